import Clocks
import EventLog
import JSON
import Observability
import Records
import Synchronization

/// Since when sinks are configured no longer, and what became of those whose time was over: `data_dir/removed-sinks.json`.
///
/// `{"format":"event-relay-removed-sinks","version":2,"dropped_events":0,
/// "sinks":[{"name":"raw","removed_at_ms":1792757071512,"held_before":1042,"given_up":false}],
/// "given_up":[{"name":"hook","at":"2026-10-23T08:04:31.512Z","ledger":{…}}]}`; version 1 has no `held_before` and `given_up`.
final class RemovedSinkBook: Sendable {
  static let format = "event-relay-removed-sinks"
  static let version = 2
  static let fileName = "removed-sinks.json"
  /// Of so many sinks that were given up the last books are kept.
  static let givenUpMax = 100

  /// One that is kept, or was given up and isn't gone from the disk yet.
  struct Entry: Sendable, Equatable {
    var removedAt: Timestamp
    /// The number of the first event that came after; nil in a list of an older program.
    var heldBefore: UInt64?
    /// Its books are closed: it is owed nothing, whatever lies in its record.
    var isGivenUp = false
  }

  private struct State {
    var sinks: [String: Entry] = [:]
    var droppedEvents: UInt64 = 0
    /// As they stand in the file, the newest last.
    var givenUp: [JSONValue] = []
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
    state.givenUp = json["given_up"]?.array ?? []
    for sink in sinks {
      guard let name = sink["name"]?.string, let moment = sink["removed_at_ms"]?.integer(as: Int64.self) else {
        continue
      }
      state.sinks[name] = Entry(
        removedAt: Timestamp(milliseconds: moment), heldBefore: sink["held_before"]?.integer(),
        isGivenUp: sink["given_up"]?.bool ?? false)
    }
    return state
  }

  /// What is known of a sink that was found to be removed; nil when it isn't known as such.
  func entry(_ name: String) -> Entry? { state.withLock { $0.sinks[name] } }

  /// Sinks whose books are closed and which may have a record still.
  var closed: [String] { state.withLock { $0.sinks.filter(\.value.isGivenUp).keys.sorted() } }

  /// Events that were owed to sinks whose time was over.
  var droppedEvents: UInt64 { state.withLock { $0.droppedEvents } }

  /// The last books of sinks whose time was over, as `/status` shows them.
  var givenUp: [JSONValue] { state.withLock { $0.givenUp } }

  /// Notes that a sink is removed, from now on unless it was before.
  ///
  /// - Parameter next: the number of the next event, which the sink doesn't hold any more.
  /// - Returns: since when it is, and from which event on.
  func note(_ name: String, now: Timestamp, next: UInt64) -> Entry {
    if let known = entry(name), known.heldBefore != nil { return known }
    let entry = Entry(removedAt: entry(name)?.removedAt ?? now, heldBefore: next)
    change { $0.sinks[name] = entry }
    return entry
  }

  /// Closes a sink's books: what it is still owed is dropped. On disk before its record goes, so that a crash in between
  /// changes no count.
  ///
  /// - Throws: ``FileError`` when that can't be written; then its books stay open.
  func giveUp(_ name: String, at now: Timestamp, _ ledger: Ledger) throws(FileError) {
    try state.withLock { (state) throws(FileError) in
      var changed = state
      changed.sinks[name, default: Entry(removedAt: now)].isGivenUp = true
      changed.droppedEvents += ledger.waiting
      var last = ledger
      last.settled.add(.droppedRemoved, last.waiting)
      last.waiting = 0
      changed.givenUp.append(
        ["name": .string(name), "at": .string(now.description), "ledger": StatusReport.ledger(last)])
      changed.givenUp = changed.givenUp.suffix(Self.givenUpMax)
      try write(changed)
      state = changed
    }
  }

  /// A sink is configured again, or its record is gone.
  func forget(_ names: [String]) {
    guard state.withLock({ state in names.contains { state.sinks[$0] != nil } }) else { return }
    change { state in for name in names { state.sinks[name] = nil } }
  }

  /// The time counts in memory too when it can't be written: that is told, and written with the next change.
  private func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      body(&state)
      do throws(FileError) {
        try write(state)
      } catch {
        logger.warning(
          "the list of removed sinks can't be written", about: path, ["why": .text(error.description)])
      }
    }
  }

  private func write(_ state: State) throws(FileError) {
    try FileSystem.system.replace(path, with: Self.json(of: state).utf8 + [UInt8(ascii: "\n")])
  }

  private static func json(of state: State) -> JSONValue {
    [
      "format": .string(format), "version": JSONValue(version), "dropped_events": JSONValue(state.droppedEvents),
      "sinks": .array(
        state.sinks.sorted { $0.key < $1.key }.map {
          [
            "name": .string($0.key), "removed_at_ms": JSONValue($0.value.removedAt.milliseconds),
            "held_before": $0.value.heldBefore.map { JSONValue($0) } ?? .null, "given_up": .bool($0.value.isGivenUp),
          ]
        }),
      "given_up": .array(state.givenUp),
    ]
  }
}
