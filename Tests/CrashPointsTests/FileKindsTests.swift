#if CRASH_POINTS
  import Testing

  @testable import CrashPoints

  @Suite("Kinds of files")
  struct FileKindsTests {
    private let kinds = FileKinds("data=/var/relay/data:lines=/var/relay/events:archive=/var/relay/archive")

    @Test(
      "are told from the path",
      arguments: [
        ("data/log/segment-000000000001.log", "segment"), ("data/log/spare-000000000001.log", "spare"),
        ("data/log/filling-000000000001.tmp", "filling"), ("data/log/torn-000000000001-512.bin", "torn"),
        ("data/log/damaged-3.bin", "segment-aside"), ("data/log/retained", "retained"),
        ("data/log/retained.tmp", "retained"), ("data/log/sync-failed", "sync-failed"),
        ("data/positions/upstream.json", "position"), ("data/positions/upstream.json.tmp", "position"),
        ("data/positions/upstream.json.damaged-1", "position-aside"), ("data/instance.tmp", "instance"),
        ("data/dead-letters/20261130T112447.123Z-upstream.ndjson", "letters"),
        ("data/dead-letters/20261130T112447.123Z-upstream.ndjson.replayed", "replayed"),
        ("data/dead-letters/20261130T112447.123Z-upstream.ndjson.rewriting", "letters-copy"),
        ("data/dead-letters/removed.json.tmp", "removed-letters"), ("data/dedupe/00000001.ids", "ids"),
        ("data/replays/raw/log/segment-000000000001.log", "queue-segment"),
        ("data/replays/raw/positions/queue.json", "queue-position"), ("data/replays/raw/journal.json", "journal"),
        ("data/replays/raw/jobs/r1.json.tmp", "job"), ("data/keys.damaged-17", "keys-aside"),
        ("events/2026/11/30.ndjson", "lines"), ("archive/manifest.ndjson", "manifest"),
        ("archive/a.ndjson.gz.part", "open-archive"), ("archive/a.salts.part", "open-salts"),
        ("archive/a.ndjson.gz", "archived"), ("archive/a.salts", "salts"),
        ("archive/a.salts.part.aside", "archive-aside"),
      ])
    func files(path: String, kind: String) {
      #expect(kinds.kind(of: "/var/relay/\(path)", isDirectory: false) == kind)
    }

    @Test(
      "are told of directories",
      arguments: [
        ("data", "data-directory"), ("data/log", "log-directory"), ("data/replays/raw", "queue-directory"),
        ("data/replays/raw/log", "queue-log-directory"), ("events", "lines-directory"),
        ("events/2026/11", "lines-directory"), ("archive", "archive-directory"), ("", "parent-directory"),
      ])
    func directories(path: String, kind: String) {
      #expect(kinds.kind(of: path.isEmpty ? "/var/relay" : "/var/relay/\(path)", isDirectory: true) == kind)
    }

    @Test(
      "aren't made up",
      arguments: [
        "data/log/other", "data/new.json", "data/log/segment-1.txt", "data/log/a/segment-1.log", "archive/notes.txt",
        "database/log/retained", "data/positions/a.json.bak",
      ])
    func unknown(path: String) {
      #expect(kinds.kind(of: "/var/relay/\(path)", isDirectory: false) == "unknown:/var/relay/\(path)")
    }

    @Test("name what is done, and what a file becomes by another name")
    func names() {
      let log = "/var/relay/data/log"
      #expect(kinds.name(of: .write, "\(log)/segment-1.log") == "segment.write")
      #expect(kinds.name(of: .rename, "\(log)/retained.tmp", to: "\(log)/retained") == "retained.rename")
      #expect(kinds.name(of: .rename, "\(log)/segment-1.log", to: "\(log)/spare-1.log") == "segment.rename-to-spare")
      #expect(kinds.name(of: .syncDirectory, log) == "log-directory.sync")
    }

    @Test("have each its own name, and none shadows another")
    func eachOnce() {
      for table in [FileKinds.data, FileKinds.archive] {
        #expect(Set(table.map(\.pattern)).count == table.count)
        #expect(Set(table.map(\.kind)).count == table.count)
        for (at, row) in table.enumerated() {
          let example = row.pattern.replacing("*", with: "x")
          let first = table.firstIndex { FileKinds.fits(example, $0.pattern) }
          #expect(first == at, "\(row.pattern)")
        }
      }
    }

    @Test("are the ones to die at, with the time when it is not the first")
    func ends() {
      #expect(CrashEnd("segment.write.before") == CrashEnd(point: "segment.write.before", time: 1))
      #expect(CrashEnd("segment.write.before#3") == CrashEnd(point: "segment.write.before", time: 3))
    }
  }
#endif
