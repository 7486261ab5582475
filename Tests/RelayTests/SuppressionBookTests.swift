import Clocks
import Foundation
import JSON
import Observability
import Records
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("The book of what deny lists keep out")
struct SuppressionBookTests {
  private let directory = TemporaryDirectory()
  private let now = Timestamp(milliseconds: 1_800_000_000_000)

  private func book(_ fault: FileSystem.Fault? = nil) throws -> SuppressionBook {
    let now = self.now
    return try SuppressionBook(
      directory: directory.path, files: FileSystem(fault: fault), clock: WallClock { now }, logger: .silent)
  }

  /// Waits until it is counted, or isn't.
  private func add(_ events: Int, _ app: String, to book: SuppressionBook) async -> Bool {
    await withCheckedContinuation { continuation in
      book.add(events, app: app) { continuation.resume(returning: $0) }
    }
  }

  private var file: String { directory.file(SuppressionCounts.fileName) }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path))?.sorted() ?? [] }

  @Test("goes on after a restart where it was, app by app, also of those that are gone")
  func goesOn() async throws {
    let first = try book()
    #expect(first.counts == SuppressionCounts() && names.isEmpty)
    #expect(await add(3, "ios", to: first))
    #expect(await add(1, "site", to: first))
    first.close()
    let second = try book()
    #expect(second.counts.apps == ["ios": 3, "site": 1] && second.counts.total == 4)
    #expect(await add(2, "ios", to: second))
    #expect(try book().counts.apps == ["ios": 5, "site": 1])
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    #expect(mode == 0o600 && names == [SuppressionCounts.fileName])
  }

  @Test("is on disk when the answer comes")
  func durable() async throws {
    let book = try book()
    let (directory, seen) = (self.directory.path, Fact<UInt64?>(nil))
    book.add(7, app: "ios") { isCounted in
      guard isCounted, let found = try? SuppressionCounts.read(directory), case .counts(let counts) = found else {
        return
      }
      seen.change { $0 = counts.total }
    }
    #expect(await seen.wait { $0 != nil } == 7)
  }

  @Test("has requests that come while one write is under way share the next, each answered once")
  func grouped() async throws {
    // The first write waits until all the others have come.
    let gate = DispatchSemaphore(value: 0)
    let renames = Fact(0)
    let book = try book { operation, _ in
      guard operation == .rename else { return 0 }
      renames.change { $0 += 1 }
      if renames.value == 1 { gate.wait() }
      return 0
    }
    let answers = Fact<[Bool]>([])
    for number in 0..<200 {
      if number == 1 { #expect(await renames.wait { $0 == 1 } != nil) }
      book.add(1, app: number % 2 == 0 ? "ios" : "site") { isCounted in answers.change { $0.append(isCounted) } }
    }
    gate.signal()
    let all = try #require(await answers.wait { $0.count == 200 })
    #expect(all.allSatisfy { $0 })
    book.close()
    #expect(book.counts.apps == ["ios": 100, "site": 100] && renames.value == 2)
    #expect(try self.book().counts.apps == ["ios": 100, "site": 100])
  }

  @Test(
    "counts nothing when a step of a write fails, here and after a restart, and goes on when it works again",
    arguments: [FileError.Operation.create, .write, .sync, .rename, .syncDirectory])
  func failing(_ step: FileError.Operation) async throws {
    let isBroken = Atomic(false)
    let book = try book { operation, _ in isBroken.load(ordering: .relaxed) && operation == step ? EIO : 0 }
    #expect(await add(5, "ios", to: book))
    isBroken.store(true, ordering: .relaxed)
    #expect(await add(1, "ios", to: book) == false)
    #expect(await add(1, "site", to: book) == false)
    #expect(book.counts.apps == ["ios": 5])
    // As if it were killed now.
    #expect(try self.book().counts.apps == ["ios": 5])
    isBroken.store(false, ordering: .relaxed)
    #expect(await add(2, "ios", to: book))
    #expect(try self.book().counts.apps == ["ios": 7])
  }

  @Test("takes nothing when it is closed")
  func closed() async throws {
    let book = try book()
    book.close()
    #expect(await add(1, "ios", to: book) == false)
    #expect(names.isEmpty)
  }

  @Test("leaves what a crash in the middle of a write left aside, whatever it holds")
  func leftover() async throws {
    let first = try book()
    #expect(await add(5, "ios", to: first))
    var later = first.counts
    later.add(1, to: "ios")
    for length in [0, 1, later.encoded.count / 2, later.encoded.count] {
      try Data(later.encoded.prefix(length)).write(to: URL(filePath: "\(file).tmp"))
      #expect(try book().counts.apps == ["ios": 5])
      #expect(names == [SuppressionCounts.fileName])
    }
  }

  @Test("sets a damaged file aside, says since when it counts anew, and goes on so")
  func damaged() async throws {
    let first = try book()
    #expect(await add(5, "ios", to: first))
    let whole = first.counts.encoded
    for length in 0..<whole.count {
      #expect(SuppressionCounts.parse(Array(whole.prefix(length))) == .damaged)
    }
    for at in whole.indices {
      var bytes = whole
      bytes[at] ^= 1
      #expect(SuppressionCounts.parse(bytes) != .counts(first.counts), "\(at)")
    }
    for round in 1...6 {
      try Data(whole.dropLast(3)).write(to: URL(filePath: file))
      let anew = try book()
      #expect(anew.counts == SuppressionCounts(since: now))
      #expect(await add(1, "ios", to: anew))
      #expect(try book().counts == SuppressionCounts(apps: ["ios": 1], since: now))
      #expect(anew.counts.json["counts_since"]?.string == now.description)
      #expect(names.count == 1 + min(round, 4), "\(names)")
    }
  }

  @Test("refuses a newer program's file, with both versions named, and one that can't be read")
  func newer() throws {
    let text = #"{"format":"event-relay-suppressed","version":9,"bytes":0,"crc32c":"00000000"}"# + "\n"
    _ = directory.write(SuppressionCounts.fileName, text)
    let error = #expect(throws: RelayError.self) { try book() }
    #expect(error?.description.contains("has version 9, and this program reads up to 1") == true)
    #expect(readFile(file) == Array(text.utf8))
    #expect(throws: RelayError.self) { try book { operation, _ in operation == .read ? EIO : 0 } }
  }

  @Test("never turns over")
  func bounds() {
    var counts = SuppressionCounts(apps: ["a": .max - 1, "b": 5])
    counts.add(7, to: "a")
    #expect(counts.apps["a"] == .max && counts.total == .max)
    #expect(SuppressionCounts.parse(counts.encoded) == .counts(counts))
  }

  @Test("is told to metrics by the label of each app; those that are gone are told together")
  func metrics() {
    let counts = SuppressionCounts(apps: ["ios": 1, "gone": 2, "older": 3])
    let samples = SuppressionMetrics.samples(counts) { $0 == "ios" ? "ios" : "other" }
    #expect(samples.map(\.label) == ["ios", "other"] && samples.map(\.value) == [1, 5])
  }

  @Test("doctor finds it damaged, of a newer program, or of another relay")
  func examined() async throws {
    func check(_ totals: [Int]) -> DoctorCheck {
      let left = Mutex(totals)
      return SuppressionExamination(dataDirectory: directory.path) {
        left.withLock { left in
          left.isEmpty
            ? nil : ["ledger": ["suppressed": ["total": JSONValue(left.count > 1 ? left.removeFirst() : left[0])]]]
        }
      }.check()
    }
    #expect(check([]).isOK && check([0]).isOK)
    let book = try book()
    #expect(await add(5, "ios", to: book))
    #expect(check([]) == .ok("suppressed", "5 events of 1 app"))
    #expect(check([5]).isOK && check([4, 6]).isOK)
    // The relay moved on between the first look and the second.
    #expect(check([4, 4, 5]).isOK)
    #expect(check([6]).detail == "the relay says that deny lists kept out 6 events, and its file says 5")
    _ = directory.write(SuppressionCounts.fileName, "x")
    #expect(check([]).detail == "\(file) is damaged")
    _ = directory.write(SuppressionCounts.fileName, #"{"format":"event-relay-suppressed","version":2}"# + "\n")
    #expect(check([]).detail == "\(file) has version 2, and this program reads up to 1")
  }
}
