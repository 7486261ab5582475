import Clocks
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import Records
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("Dead letters")
struct DeadLetterTests {
  private final class Time: Sendable {
    private let moment = Mutex(Timestamp(milliseconds: 1_792_757_071_512))
    var now: Timestamp { moment.withLock { $0 } }
    func pass(_ duration: Duration) { moment.withLock { $0 = $0 + duration } }
  }

  private let directory = TemporaryDirectory()
  private let time = Time()
  private let logged = Fact<[String]>([])

  private var path: String { directory.file("data/dead-letters") }

  private func store(_ limits: DeadLetterLimits = DeadLetterLimits(), _ system: FileSystem = .system) -> DeadLetterStore
  {
    DeadLetterStore(
      directory: path, limits: limits, clock: WallClock { [time] in time.now },
      logger: Logger { [logged] line in logged.change { $0.append(String(decoding: line, as: UTF8.self)) } },
      system: system)
  }

  private func lines(
    _ numbers: some Sequence<Int>, app: String = "ios", code: String? = "invalid_write_key",
    destination: String = "upstream"
  ) -> RecordLines {
    let lines = RecordLines(relay: "test-relay")
    for number in numbers {
      let text = #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","code":"decoy","n":\#(number)}"#
      let index = EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: text.utf8.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: time.now, flags: [])
      let event = StoredEvent(
        sequence: UInt64(number), index: index, kind: .event, dialect: 0, receivedAt: time.now, appIndex: 0, offset: 0)
      let details = DeadLetterDetails(
        destination: destination, reason: .refused, status: 401, code: code, message: "say \"why\"", attempts: 2,
        at: time.now)
      Array(text.utf8).withUnsafeBytes { lines.append(event, app: app, bytes: $0, deadLetter: details) }
    }
    return lines
  }

  private var reader: DeadLetterReader { DeadLetterReader(directory: path) }

  private func numbers(_ filter: DeadLetterFilter = DeadLetterFilter()) throws -> [Int] {
    var found: [Int] = []
    try reader.forEach(filter) { letter, _ in
      found.append(Int(letter.sequence))
      return true
    }
    return found
  }

  private func mode(_ path: String) -> Int? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.posixPermissions] as? Int
  }

  @Test("are lines as the contract has them, readable by their owner alone")
  func contract() throws {
    let store = store()
    _ = try store.prepare("upstream")
    let mark = try store.append("upstream", lines: lines([7]))
    let name = try #require(try reader.files().first)
    #expect(name == "20261023T120431.512Z-upstream.ndjson")
    #expect(mode("\(path)/\(name)") == 0o600)
    #expect(mode(path) == 0o700)
    #expect(mark.length == readFile("\(path)/\(name)")?.count)
    let line = try JSONValue(parsing: try #require(readLines("\(path)/\(name)").first))
    #expect(
      line.members?.map(\.key) == [
        "received_at", "relay", "app", "kind", "protocol", "seq", "destination", "reason", "status", "code", "message",
        "attempts", "at", "event",
      ])
    #expect(line["event"]?["n"]?.integer() == 7)
    #expect(line["attempts"]?.integer() == 2)
    #expect(line["reason"]?.string == "refused")
  }

  @Test("are cut back to what was committed, and go on in the same file")
  func recover() throws {
    var first: DeadLetterStore? = store()
    let mark = try #require(try first?.append("upstream", lines: lines(1...2)))
    _ = try first?.append("upstream", lines: lines(3...4))
    first = nil
    let second = store()
    try second.recover("upstream", mark: mark)
    #expect(try numbers() == [1, 2])
    _ = try second.append("upstream", lines: lines(5...5))
    #expect(try numbers() == [1, 2, 5])
    #expect(try reader.files().count == 1)
  }

  @Test("of a file that is gone, or another one by now, are left alone")
  func meddling() throws {
    var first: DeadLetterStore? = store()
    let mark = try #require(try first?.append("upstream", lines: lines(1...2)))
    first = nil
    let file = "\(path)/\(try #require(try reader.files().first))"
    try "something else that is long enough to be the same file".write(toFile: file, atomically: true, encoding: .utf8)
    var second: DeadLetterStore? = store()
    try second?.recover("upstream", mark: mark)
    _ = try second?.append("upstream", lines: lines([3]))
    #expect(try numbers() == [3])
    #expect(try reader.files().count == 2)
    second = nil
    try FileManager.default.removeItem(atPath: file)
    try store().recover("upstream", mark: mark)
    #expect(try numbers() == [3])
  }

  @Test("of two destinations lie in files of their own")
  func destinations() throws {
    let store = store()
    let mark = try store.append("upstream", lines: lines([1]))
    _ = try store.append("my/hook", lines: lines([2], destination: "my/hook"))
    _ = try store.append("upstream", lines: lines([3]))
    #expect(try reader.files().map { $0.split(separator: "-")[1] } == ["my_hook.ndjson", "upstream.ndjson"])
    #expect(try numbers(DeadLetterFilter(destination: "my/hook")) == [2])
    store.close("upstream")
    try store.recover("upstream", mark: mark)
    #expect(try numbers() == [2, 1])
  }

  @Test("begin a new file when one is full or a day old, with a later name whatever the clock does")
  func rotation() throws {
    let store = store(DeadLetterLimits(fileSize: 600))
    for number in 1...4 {
      _ = try store.prepare("upstream")
      _ = try store.append("upstream", lines: lines([number]))
    }
    #expect(try reader.files().count == 2)
    time.pass(.seconds(-3600))
    for number in 5...6 {
      _ = try store.prepare("upstream")
      _ = try store.append("upstream", lines: lines([number]))
    }
    #expect(try reader.files().count == 3)
    #expect(try numbers() == Array(1...6))
    time.pass(.seconds(100_000))
    _ = try store.prepare("upstream")
    #expect(try reader.files().count == 4)
  }

  @Test("past the size limit lose whole oldest files, counted and said")
  func sizeLimit() throws {
    let store = store(DeadLetterLimits(size: 4000))
    for number in 1...40 {
      time.pass(.seconds(1))
      _ = try store.prepare("upstream")
      _ = try store.append("upstream", lines: lines([number]))
    }
    let kept = try numbers()
    #expect(kept == Array((41 - kept.count)...40))
    #expect(store.removedLetters["upstream"]?[.size] == 40 - kept.count)
    let bytes = try reader.files().reduce(0) { $0 + (readFile("\(path)/\($1)")?.count ?? 0) }
    #expect(bytes <= 4000)
    #expect(bytes > 2000)
    #expect(logged.value.contains { $0.contains("dead_letters.max_size is reached") })
    // A lower limit holds at once.
    store.setLimits(DeadLetterLimits(size: 2000))
    let fewer = try numbers()
    #expect(fewer.count < kept.count && fewer == Array((41 - fewer.count)...40))
    #expect(store.removedLetters["upstream"]?[.size] == 40 - fewer.count)
  }

  @Test("past the retention lose whole files, the one that was written to last too")
  func retention() throws {
    let store = store(DeadLetterLimits(retention: .seconds(86_400)))
    let setBack = Date(timeIntervalSince1970: 1_792_757_071)
    for number in 1...2 {
      _ = try store.prepare("upstream")
      _ = try store.append("upstream", lines: lines([number]))
      // The file system's own clock is not the test's.
      for name in try reader.files() {
        try FileManager.default.setAttributes([.modificationDate: setBack], ofItemAtPath: "\(path)/\(name)")
      }
      time.pass(.seconds(86_401))
    }
    store.enforceLimits()
    #expect(try numbers() == [])
    #expect(store.removedLetters.values.flatMap(\.values).reduce(0, +) == 2)
    _ = try store.append("upstream", lines: lines([3]))
    #expect(try numbers() == [3])
  }

  @Test("are kept at a start whose clock would make even the newest too old")
  func wrongClock() throws {
    _ = try store().append("upstream", lines: lines([1]))
    let ahead = DeadLetterStore(
      directory: path, limits: DeadLetterLimits(retention: .seconds(86_400)),
      clock: WallClock { Timestamp(milliseconds: 4_000_000_000_000) },
      logger: Logger { [logged] line in logged.change { $0.append(String(decoding: line, as: UTF8.self)) } })
    for _ in 0..<2 { ahead.enforceLimits() }
    #expect(try numbers() == [1])
    #expect(logged.value.filter { $0.contains("should the clock be wrong") }.count == 1)
  }

  @Test("that can't be written are an error, and leave no half line")
  func diskFull() throws {
    let isFull = Mutex(false)
    let failing = Mutex<FileError.Operation>(.write)
    let store = store(
      DeadLetterLimits(),
      FileSystem { operation, _ in isFull.withLock { $0 } && operation == failing.withLock { $0 } ? ENOSPC : 0 })
    _ = try store.append("upstream", lines: lines([1]))
    isFull.withLock { $0 = true }
    for operation in [FileError.Operation.write, .sync, .create] {
      failing.withLock { $0 = operation }
      #expect(throws: FileError.self) {
        _ = try store.prepare("upstream")
        _ = try store.append("upstream", lines: lines([2]))
      }
    }
    isFull.withLock { $0 = false }
    _ = try store.append("upstream", lines: lines([3]))
    #expect(try numbers().filter { $0 != 2 } == [1, 3])
  }

  @Test("are found by destination, app, code and time")
  func filters() throws {
    let store = store()
    _ = try store.append("upstream", lines: lines([1]))
    time.pass(.seconds(60))
    let middle = time.now
    _ = try store.append("upstream", lines: lines([2], app: "android"))
    time.pass(.seconds(60))
    _ = try store.append("upstream", lines: lines([3], code: nil))
    #expect(try numbers(DeadLetterFilter(app: "android")) == [2])
    #expect(try numbers(DeadLetterFilter(code: "invalid_write_key")) == [1, 2])
    #expect(try numbers(DeadLetterFilter(code: "decoy")) == [])
    #expect(try numbers(DeadLetterFilter(since: middle)) == [2, 3])
    #expect(try numbers(DeadLetterFilter(until: middle)) == [1])
    #expect(try numbers(DeadLetterFilter(destination: "hook")) == [])
  }

  @Test("are shown by event id and by place, and exported as they are")
  func show() throws {
    let store = store()
    _ = try store.append("upstream", lines: lines(1...3))
    let file = try #require(try reader.files().first)
    let second = try #require(try reader.show(.init("\(file):2")))
    #expect(second.letter.sequence == 2)
    #expect(second.letter.json["event_id"]?.string == "0d9f6a34-0000-4000-8000-000000000002")
    let byID = try #require(try reader.show(.init("0D9F6A34-0000-4000-8000-000000000002")))
    #expect(byID.line == second.line)
    #expect(try reader.show(.init("\(file):4")) == nil)
    #expect(try reader.show(.init("no-such-id")) == nil)
    #expect(try reader.show(.init("../../etc/passwd:1")) == nil)
    var exported: [UInt8] = []
    try reader.export { line in
      exported += line
      return true
    }
    #expect(exported == readFile("\(path)/\(file)"))
  }

  @Test("are read past half lines, foreign lines and endless ones")
  func tolerant() throws {
    let store = store()
    _ = try store.append("upstream", lines: lines([1]))
    let file = "\(path)/\(try #require(try reader.files().first))"
    let handle = try #require(FileHandle(forWritingAtPath: file))
    try handle.seekToEnd()
    try handle.write(contentsOf: Data("not ours\n\n{\"received_at\":\"x\",\"event\":{}}\n".utf8))
    try handle.write(contentsOf: Data(repeating: UInt8(ascii: "x"), count: 5 << 20))
    try handle.write(contentsOf: Data("\n".utf8))
    let second = lines([2])
    try handle.write(contentsOf: Data(second.bytes))
    try handle.write(contentsOf: Data(second.bytes.prefix(100)))
    #expect(try numbers() == [1, 2])
    var places: [Int] = []
    try reader.forEach { letter, _ in
      places.append(letter.line)
      return true
    }
    #expect(places == [1, 6])
  }

  @Test("aren't there: no fault")
  func none() throws {
    #expect(try numbers() == [])
    #expect(try reader.show(.eventID("x")) == nil)
    store().enforceLimits()
  }
}
