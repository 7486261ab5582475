import Clocks
import Dispatch
import Ingest
import Observability
import Records
import Synchronization

/// Counts what deny lists keep out, on stable storage before the sender is answered: requests that come while one write is
/// under way share the next.
final class SuppressionBook: SuppressionLedger {
  /// Of so many damaged files the last ones are kept aside.
  private static let asideMax = 4

  private struct Wish {
    var app: String
    var events: Int
    var completion: @Sendable (Bool) -> Void
  }

  private struct State {
    /// As they are on disk.
    var counts: SuppressionCounts
    var waiting: [Wish] = []
    var isWriting = false
    var isClosed = false
  }

  private let path: String
  private let files: FileSystem
  private let logger: Logger
  private let state: Mutex<State>
  /// Writes one after the other, on a thread that may wait for the disk.
  private let queue = DispatchQueue(label: "suppressed")
  private let isFailing = Atomic(false)

  /// Goes on where the file ends. A damaged one is set aside, and the counts begin anew.
  ///
  /// - Throws: ``RelayError`` when a newer program wrote the file, it can't be read, or not be set aside.
  init(
    directory: String, files: FileSystem = .system, clock: WallClock = .system, logger: Logger
  ) throws(RelayError) {
    path = "\(directory)/\(SuppressionCounts.fileName)"
    self.files = files
    self.logger = logger
    do {
      // What a crash in the middle of a write leaves.
      try files.remove("\(path).tmp")
      state = Mutex(State(counts: try Self.open(directory, path, files, clock, logger)))
    } catch let error as RelayError {
      throw error
    } catch {
      throw RelayError("the counts of events that deny lists keep out can't be taken up: \(error)")
    }
  }

  private static func open(
    _ directory: String, _ path: String, _ files: FileSystem, _ clock: WallClock, _ logger: Logger
  ) throws -> SuppressionCounts {
    switch try SuppressionCounts.read(directory, on: files) {
    case nil: return SuppressionCounts()
    case .counts(let counts): return counts
    case .newer(let version):
      throw RelayError(
        "\(path) has version \(version), and this program reads up to \(SuppressionCounts.version): run the program that "
          + "wrote it, or a newer one")
    case .damaged:
      let names = Set(try files.list(directory))
      let numbers = 1...asideMax
      let number = numbers.first { !names.contains("\(SuppressionCounts.fileName).damaged-\($0)") } ?? asideMax
      // (A copy: after a crash in between the damage is still seen.)
      try files.replace("\(path).damaged-\(number)", with: try files.readWhole(path) ?? [])
      let anew = SuppressionCounts(since: clock.now)
      try files.replace(path, with: anew.encoded)
      logger.error(
        "the counts of events that deny lists keep out are damaged and begin anew",
        ["file": .text(path), "kept_as": .text("\(path).damaged-\(number)")])
      return anew
    }
  }

  /// As they are on disk.
  var counts: SuppressionCounts { state.withLock { $0.counts } }

  func add(_ events: Int, app: String, completion: @escaping @Sendable (Bool) -> Void) {
    let begins = state.withLock { state -> Bool? in
      guard !state.isClosed else { return nil }
      state.waiting.append(Wish(app: app, events: events, completion: completion))
      defer { state.isWriting = true }
      return !state.isWriting
    }
    guard let begins else { return completion(false) }
    if begins { queue.async { [self] in writeAll() } }
  }

  /// Takes nothing any more, and waits until what was taken is written.
  func close() {
    state.withLock { $0.isClosed = true }
    queue.sync {}
  }

  private func writeAll() {
    while true {
      let (wishes, before) = state.withLock { state in
        defer { state.waiting = [] }
        state.isWriting = !state.waiting.isEmpty
        return (state.waiting, state.counts)
      }
      guard !wishes.isEmpty else { return }
      var after = before
      for wish in wishes { after.add(wish.events, to: wish.app) }
      let isWritten = write(after, over: before)
      if isWritten { state.withLock { $0.counts = after } }
      for wish in wishes { wish.completion(isWritten) }
    }
  }

  private func write(_ counts: SuppressionCounts, over before: SuppressionCounts) -> Bool {
    do throws(FileError) {
      try files.replace(path, with: counts.encoded)
    } catch {
      // It stands there already, and may not last: what nobody was told of must not be counted after a restart.
      if error.operation == .syncDirectory { try? files.replace(path, with: before.encoded) }
      if !isFailing.exchange(true, ordering: .relaxed) {
        logger.error(
          "what deny lists keep out can't be counted: such requests are answered with 503",
          ["why": .text(error.description)])
      }
      return false
    }
    if isFailing.exchange(false, ordering: .relaxed) { logger.info("what deny lists keep out can be counted again") }
    return true
  }
}
