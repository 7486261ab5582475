import Foundation
import PowerLoss
import TestSupport
import Testing

/// The shim under programs of the system.
@Suite("The shim")
struct ShimTests {
  private let root = TemporaryDirectory()
  private let notes = TemporaryDirectory()

  private var journal: String { notes.file("journal") }

  /// Runs a shell's words in the root, with the shim before the C library.
  @discardableResult
  private func run(_ words: String, _ further: [String: String] = [:]) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", words]
    process.currentDirectoryURL = URL(filePath: root.path)
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    var environment = ProcessInfo.processInfo.environment
    environment["LD_PRELOAD"] = own.appending(path: "libPowerLossShim.so").path
    environment["POWER_LOSS_ROOT"] = root.path
    environment["POWER_LOSS_JOURNAL"] = journal
    process.environment = environment.merging(further) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
  }

  private func recorded() throws -> Journal { try Journal(readFile(journal) ?? []) }

  private func history() throws -> DiskHistory {
    let journal = try recorded()
    var status = stat()
    stat(root.path, &status)
    var history = DiskHistory(journal, from: DiskImage(root: FileIdentity(inode: UInt64(status.st_ino), born: 0)))
    try history.advance(to: journal.records.count)
    return history
  }

  @Test("tells of all that programs do to files, and leaves them as they would be without it")
  func tells() throws {
    try run(
      """
      mkdir d; printf hello > d/a; printf ' world' >> d/a; dd if=/dev/zero of=d/z bs=600 count=3 conv=fsync status=none
      mv d/a d/b; truncate -s 7 d/b; dd if=d/b of=c status=none; printf x | dd of=c bs=1 seek=2 conv=notrunc status=none; rm d/z; mkdir e; rmdir e
      """)
    #expect(readFile(root.file("d/b")) == Array("hello w".utf8) && readFile(root.file("c")) == Array("hexlo w".utf8))
    let image = try history().whole
    #expect(image.paths == ["c", "d", "d/b"])
    #expect(image["d/b"] == Array("hello w".utf8) && image["c"] == Array("hexlo w".utf8))
  }

  @Test("ends a program between two changes when it is told to: the journal has all that is there", arguments: 0..<20)
  func ends(turn: Int) throws {
    // Another shell sends it the signal as soon as there is a file.
    let words = """
      (until [ -e f\(1 + turn) ]; do :; done; kill -USR2 $$) &
      i=0; while [ $i -lt 20000 ]; do i=$((i+1)); : > f$i; done
      """
    #expect(try run(words).status == SIGKILL)
    let image = try history().whole
    let there = try FileManager.default.contentsOfDirectory(atPath: root.path)
    #expect(image.paths == there.sorted())
  }

  @Test("takes nothing outside of the directory into account")
  func outside() throws {
    try run("printf x > \(notes.path)/other; mkdir \(notes.path)/d; printf y > a; mv \(notes.path)/d \(notes.path)/e")
    #expect(try history().whole.paths == ["a"])
  }

  @Test("knows what was synced, of files and of directories, and forgets it where it is told to lie")
  func syncs() throws {
    let words = "printf kept > a; sync a; sync .; printf more >> a"
    func nothingKept() throws -> DiskImage {
      var random = SeededGenerator(seed: 1)
      return PowerCut(names: .anySubset, kept: 0, torn: 0, garbage: 0).image(of: try history(), &random) { _ in false }
        .image
    }
    try run(words)
    #expect(try nothingKept()["a"] == Array("kept".utf8))
    for (lie, content) in [("files", [UInt8]?([])), ("directories", nil), ("all", nil)] {
      unlink(journal)
      unlink(root.file("a"))
      try run(words, ["POWER_LOSS_LIE": lie])
      #expect(try nothingKept()["a"] == content)
    }
  }

  @Test("kills the process right behind the record it is told")
  func kills() throws {
    // (The shell's own start is a record; what it runs counts for itself.)
    let ended = try run("printf a > a; printf b > b; printf c > c", ["POWER_LOSS_KILL_AFTER": "4"])
    #expect(ended.status == 9)
    #expect(try recorded().records.count == 4)
    #expect(try history().whole.paths == ["a", "b"])
  }

  @Test("kills it only where a file gets a name when it is told so")
  func killsAtNames() throws {
    let further = ["POWER_LOSS_KILL_AFTER": "3", "POWER_LOSS_KILL_AT": "name"]
    #expect(try run("printf a > a; printf b >> a; printf c > c", further).status == 9)
    // The start, a's name, two writes, c's name.
    #expect(try recorded().records.count == 5)
    #expect(try history().whole.paths == ["a", "c"])
  }

  @Test("shows files that were put back under the inode and time of birth that they had")
  func identities() throws {
    try run("printf hello > a; mkdir d")
    let image = try history().whole
    let was = try #require(image.entries.first { $0.path == "a" }).identity
    unlink(root.file("a"))
    rmdir(root.file("d"))
    try image.write(below: root.path, identities: notes.file("identities"), generation: 1)
    let shown = try run(
      "stat -c '%i %W' a; printf x > b; stat -c %i b", ["POWER_LOSS_IDENTITIES": notes.file("identities")])
    let lines = shown.output.split(separator: "\n").map(String.init)
    #expect(lines.first == "\(was.inode) \(was.born / 1_000_000_000)")
    // A new file has a number that none had before.
    #expect((lines.last.flatMap { UInt64($0) } ?? 0) > 1 << 40)
  }

  @Test("doesn't take a new file that has a removed one's inode for that one")
  func inodeUsedAgain() throws {
    try run("printf hello > a")
    let image = try history().whole
    let was = try #require(image.entries.first).identity
    unlink(root.file("a"))
    try image.write(below: root.path, identities: notes.file("identities"), generation: 1)
    // Many, so that one of them gets it.
    let words = "rm a; i=0; while [ $i -lt 50 ]; do printf x > f$i; i=$((i + 1)); done; stat -c %i f*"
    let shown = try run(words, ["POWER_LOSS_IDENTITIES": notes.file("identities")])
    let numbers = shown.output.split(separator: "\n").compactMap { UInt64($0) }
    #expect(numbers.count == 50 && !numbers.contains(was.inode) && numbers.allSatisfy { $0 > 1 << 40 })
  }

  @Test("says so when a program does what it can't tell")
  func unsupported() throws {
    try run("printf x > a; ln a b")
    let fault = #expect(throws: JournalFault.self) { try history() }
    #expect(fault?.description.contains("link") == true)
  }
}
