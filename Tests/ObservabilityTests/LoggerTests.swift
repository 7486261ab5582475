import JSON
import Clocks
import Observability
import Synchronization
import Testing

@Suite("The logger")
struct LoggerTests {
  private final class Lines: Sendable {
    private let all = Mutex<[String]>([])
    func add(_ line: [UInt8]) { all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    var list: [String] { all.withLock { $0 } }
  }

  private let clock = WallClock { Timestamp(milliseconds: 1_792_757_071_512) }

  @Test("writes one line a fact, as text")
  func text() {
    let lines = Lines()
    let logger = Logger(clock: clock) { lines.add($0) }
    logger.warning("upstream refused", about: "ios", ["status": 401, "why": "bad key", "after": .seconds(1.5)])
    #expect(
      lines.list == [
        "2026-10-23T12:04:31.512Z WARNING upstream refused about=ios status=401 why=\"bad key\" after=1.5s\n"
      ])
  }

  @Test("writes one object a fact, as JSON, whatever the text holds")
  func json() throws {
    let lines = Lines()
    let logger = Logger(format: .json, clock: clock) { lines.add($0) }
    logger.info("hello", ["odd": "a\"b\nc"])
    let line = try #require(lines.list.first)
    #expect(try JSONValue(parsing: line)["odd"]?.string == "a\"b\nc")
    #expect(line.filter { $0 == "\n" }.count == 1)
  }

  @Test("takes another level and form while it writes")
  func change() {
    let lines = Lines()
    let logger = Logger(level: .error, clock: clock) { lines.add($0) }
    logger.info("one")
    logger.change(level: .debug, format: .json)
    logger.debug("two")
    logger.change(level: .warning, format: .text)
    logger.info("three")
    logger.warning("four")
    #expect(lines.list.count == 2)
    #expect(lines.list.first?.hasPrefix("{") == true && lines.list.last?.contains("WARNING four") == true)
  }

  @Test("leaves out what is below its level")
  func level() {
    let lines = Lines()
    Logger(level: .warning, clock: clock) { lines.add($0) }.info("quiet")
    #expect(lines.list.isEmpty)
  }

  @Test("lets as many lines through as it is told to, where each names something else")
  func burst() {
    let lines = Lines()
    let logger = Logger(clock: clock) { lines.add($0) }
    for number in 0..<30 { logger.error("gone", about: "file", burst: 20, ["number": .integer(number)]) }
    #expect(lines.list.count == 20)
  }

  @Test("holds back what is said too often, for each subject by itself")
  func rateLimit() {
    let lines = Lines()
    let logger = Logger(clock: clock) { lines.add($0) }
    for _ in 0..<100 { logger.info("again", about: "one") }
    logger.info("again", about: "two")
    #expect(lines.list.count == Logger.burst + 1)
  }
}
