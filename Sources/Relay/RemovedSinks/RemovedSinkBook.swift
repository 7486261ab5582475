import Clocks
import JSON
import Observability
import Records
import Synchronization

/// Since when sinks are configured no longer: `data_dir/removed-sinks.json`.
///
/// `{"format":"event-relay-removed-sinks","version":1,"dropped_events":0,"sinks":[{"name":"raw","removed_at_ms":1792757071512}]}`
final class RemovedSinkBook: Sendable {
  static let format = "event-relay-removed-sinks"
  static let version = 1
  static let fileName = "removed-sinks.json"

  private struct State {
    var sinks: [String: Timestamp] = [:]
    var droppedEvents: UInt64 = 0
  }

  private let path: String
  private let state: Mutex<State>
  private let logger: Logger

  /// Reads the book; without one, or with a damaged one, nothing is known: then what is found removed counts from now.
  ///
  /// - Throws: ``RelayError`` when a newer program wrote it, or it can't be read.
  init(directory: String, logger: Logger) throws(RelayError) {
    path = "\(directory)/\(Self.fileName)"
    self.logger = logger
    let bytes: [UInt8]?
    do throws(FileError) {
      bytes = try FileSystem.system.readWhole(path, limit: 1 << 20)
    } catch {
      throw RelayError("the list of removed sinks can't be read: \(error)")
    }
    state = Mutex(try Self.parse(bytes, path, logger))
  }

  private static func parse(_ bytes: [UInt8]?, _ path: String, _ logger: Logger) throws(RelayError) -> State {
    guard let bytes else { return State() }
    let json = try? JSONValue(parsing: bytes)
    if let version = json?["version"]?.integer(as: Int.self), version > Self.version {
      throw RelayError(
        "\(path) has version \(version), and this program reads up to \(Self.version): run the program that wrote it, or a "
          + "newer one")
    }
    guard let json, json["format"]?.string == format, let sinks = json["sinks"]?.array else {
      logger.warning("the list of removed sinks is damaged: their time counts from now", about: path)
      return State()
    }
    var state = State()
    state.droppedEvents = json["dropped_events"]?.integer(as: UInt64.self) ?? 0
    for sink in sinks {
      guard let name = sink["name"]?.string, let moment = sink["removed_at_ms"]?.integer(as: Int64.self) else {
        continue
      }
      state.sinks[name] = Timestamp(milliseconds: moment)
    }
    return state
  }

  /// When a sink was found to be removed; nil when it isn't known as such.
  func removedAt(_ name: String) -> Timestamp? { state.withLock { $0.sinks[name] } }

  /// Events that were owed to sinks whose time was over.
  var droppedEvents: UInt64 { state.withLock { $0.droppedEvents } }

  /// Notes that a sink is removed, from now on unless it was before.
  /// - Returns: since when it is.
  func note(_ name: String, now: Timestamp) -> Timestamp {
    if let known = removedAt(name) { return known }
    change { $0.sinks[name] = now }
    return now
  }

  /// A sink is configured again, or its place is gone with what it was owed.
  func forget(_ names: [String], dropped events: Int = 0) {
    guard events > 0 || state.withLock({ state in names.contains { state.sinks[$0] != nil } }) else { return }
    change { state in
      for name in names { state.sinks[name] = nil }
      state.droppedEvents += UInt64(events)
    }
  }

  /// The time counts in memory too when it can't be written: that is told, and written with the next change.
  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      do throws(FileError) {
        try FileSystem.system.replace(path, with: Self.json(of: state).utf8 + [UInt8(ascii: "\n")])
      } catch {
        logger.warning(
          "the list of removed sinks can't be written", about: path, ["why": .text(error.description)])
      }
    }
  }

  private static func json(of state: State) -> JSONValue {
    [
      "format": .string(format), "version": JSONValue(version), "dropped_events": JSONValue(state.droppedEvents),
      "sinks": .array(
        state.sinks.sorted { $0.key < $1.key }.map {
          ["name": .string($0.key), "removed_at_ms": JSONValue($0.value.milliseconds)]
        }),
    ]
  }
}
