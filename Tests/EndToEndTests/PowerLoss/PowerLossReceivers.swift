import PowerLoss
import Synchronization
import TestSupport

/// The upstream and the webhook's receiver of a round: they note what they took, and when in the journal.
final class PowerLossReceivers: Sendable {
  struct Notes: Sendable {
    /// The journal's length at the first time; 0 where none is recorded.
    var taken: [String: Int] = [:]
    var hooked: [String: Int] = [:]
    /// Events that were never sent, or came with other bytes.
    var foreign: [String] = []
  }

  let upstream: ScriptedUpstream
  let hook: ScriptedUpstream
  private let notes = Mutex(Notes())
  private let journal = Mutex<String?>(nil)
  private let finder: EventFinder

  init(_ finder: EventFinder, upstreamPort: UInt16 = 0, hookPort: UInt16 = 0) throws {
    self.finder = finder
    upstream = try ScriptedUpstream(listeningAt: upstreamPort, keepsRequests: false)
    hook = try ScriptedUpstream(listeningAt: hookPort, keepsRequests: false)
  }

  /// Forgets what came, and goes by this journal from now on.
  /// - Parameter isHealthy: false: one request in nine fails, and one app's events are never taken.
  func begin(journal path: String?, isHealthy: Bool) {
    journal.withLock { $0 = path }
    notes.withLock { $0 = Notes() }
    upstream.behave { [self] request in
      if !isHealthy, request.key == "aso_wk_slow" || request.number % 9 == 4 { return .error(503, "server_error") }
      let found = note(request.body, \.taken)
      let refused = found.indices.filter { PowerLossLoad.isRefused(found[$0]) }
      return .accept(rejected: Dictionary(uniqueKeysWithValues: refused.map { ($0, "invalid_name") }))
    }
    hook.behave { [self] request in
      if !isHealthy, request.number % 7 == 3 { return .answer(503) }
      note(request.body, \.hooked)
      return .answer(204)
    }
  }

  var now: Notes { notes.withLock { $0 } }

  /// Before the answer goes out: what the relay writes after it is further on in the journal.
  @discardableResult
  private func note(_ body: [UInt8], _ table: WritableKeyPath<Notes, [String: Int]> & Sendable) -> [String] {
    let length = journal.withLock { $0 }.map { Journal.length(of: $0) } ?? 0
    let found = finder.events(in: body)
    notes.withLock { notes in
      for event in found {
        notes[keyPath: table][event.id] = min(notes[keyPath: table][event.id] ?? .max, length)
        if !event.isWhole { notes.foreign.append(event.id) }
      }
    }
    return found.map(\.id)
  }
}
