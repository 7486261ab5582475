import TestSupport
import Testing

@testable import Apps

@Suite("An app that a key has made")
struct ForgettingTests {
  private let directory = TemporaryDirectory()
  private let time = SettableClock()
  private var path: String { directory.file("keys") }

  @Test("is forgotten after a day without a request when nothing waits, and comes back with its key")
  func idle() throws {
    let registry = try registry([ios], storage: path, clock: time.clock)
    _ = registry.app(forKey: "a")
    time.advance(by: .seconds(24 * 3600 - 1))
    registry.forgetIdle { _ in false }
    #expect(registry.upstreamKey(ofApp: ownName("a")) == "a")
    time.advance(by: .seconds(1))
    registry.forgetIdle { _ in false }
    #expect(registry.upstreamKey(ofApp: ownName("a")) == nil)
    #expect(registry.names == ["ios"])
    #expect(readLines(path) == ["event-relay keys 1", "end 0"])
    #expect(registry.app(forKey: "a").appName == ownName("a"))
  }

  @Test("stays as long as something waits for it, or requests come")
  func busy() throws {
    let registry = try registry(storage: path, clock: time.clock)
    for key in ["waits", "comes", "goes"] { _ = registry.app(forKey: key) }
    time.advance(by: .seconds(20 * 3600))
    _ = registry.app(forKey: "comes")
    time.advance(by: .seconds(10 * 3600))
    registry.forgetIdle { $0 == ownName("waits") }
    #expect(registry.names == [ownName("comes"), ownName("waits")].sorted())
  }

  @Test("stays when a request comes while it is asked what waits")
  func race() throws {
    let registry = try registry(storage: path, clock: time.clock)
    _ = registry.app(forKey: "a")
    time.advance(by: .seconds(48 * 3600))
    registry.forgetIdle { _ in
      _ = registry.app(forKey: "a")
      return false
    }
    #expect(registry.upstreamKey(ofApp: ownName("a")) == "a")
    #expect(readLines(path).count == 3)
  }

  @Test("has its day anew after a restart")
  func restart() throws {
    _ = try registry(storage: path, clock: time.clock).app(forKey: "a")
    time.advance(by: .seconds(48 * 3600))
    let registry = try registry(storage: path, clock: time.clock)
    registry.forgetIdle { _ in false }
    #expect(registry.names == [ownName("a")])
  }

  @Test("makes room for another once it is forgotten")
  func room() throws {
    let registry = try registry(clock: time.clock)
    for number in 0..<AppRegistry.ownAppsMax { _ = registry.app(forKey: "k\(number)") }
    #expect(registry.app(forKey: "more") == .tooManyKeys)
    time.advance(by: .seconds(24 * 3600))
    registry.forgetIdle { _ in false }
    #expect(registry.app(forKey: "more").appName == ownName("more"))
  }

  @Test("stays when the file can't be written")
  func unwritable() throws {
    let lines = LogLines()
    var gone: TemporaryDirectory? = TemporaryDirectory()
    let registry = try registry(storage: gone?.file("keys"), clock: time.clock, logger: lines.logger)
    _ = registry.app(forKey: "a")
    gone = nil
    time.advance(by: .seconds(48 * 3600))
    registry.forgetIdle { _ in false }
    #expect(registry.names == [ownName("a")])
    #expect(lines.list.contains { $0.contains("WARNING") })
  }
}
