import PowerLoss
import Synchronization
import TestSupport

/// The upstream and the webhook's receiver of a round: they note what they took, and when in the journal.
final class PowerLossReceivers: Sendable {
  struct Notes: Sendable {
    /// The journal's length at the first time that an event was taken, and each time that it came to the webhook's receiver; 0
    /// where none is recorded.
    var taken: [String: Int] = [:]
    var hooked: [String: [Int]] = [:]
    /// Events that were never sent, or came with other bytes.
    var foreign: [String] = []
  }

  let upstream: ScriptedUpstream
  let hook: ScriptedUpstream
  private let notes = Mutex(Notes())
  private let journal = Mutex<String?>(nil)
  private let isMended = Mutex(true)
  private let finder: EventFinder

  init(_ finder: EventFinder, upstreamPort: UInt16 = 0, hookPort: UInt16 = 0) throws {
    self.finder = finder
    upstream = try ScriptedUpstream(listeningAt: upstreamPort, keepsRequests: false)
    hook = try ScriptedUpstream(listeningAt: hookPort, keepsRequests: false)
  }

  /// Forgets what came, and goes by this journal from now on.
  /// - Parameter isHealthy: false: one request in nine fails, one app's events are never taken, and some are refused until
  ///   ``mend()``.
  func begin(journal path: String?, isHealthy: Bool) {
    journal.withLock { $0 = path }
    notes.withLock { $0 = Notes() }
    isMended.withLock { $0 = isHealthy }
    upstream.behave { [self] request in
      if !isHealthy, request.key == "aso_wk_slow" || request.number % 9 == 4 { return .error(503, "server_error") }
      let (found, length) = find(request.body)
      let isMended = isMended.withLock { $0 }
      let refused = found.indices.filter { at in
        PowerLossLoad.isRefused(found[at].id) || (!isMended && PowerLossLoad.isRefusedAtFirst(found[at].id))
      }
      let taken = Set(found.indices).subtracting(refused).map { found[$0].id }
      notes.withLock { notes in
        for id in taken { notes.taken[id] = min(notes.taken[id] ?? .max, length) }
      }
      return .accept(rejected: Dictionary(uniqueKeysWithValues: refused.map { ($0, "invalid_name") }))
    }
    hook.behave { [self] request in
      if !isHealthy, request.number % 7 == 3 { return .answer(503) }
      let (found, length) = find(request.body)
      notes.withLock { notes in
        for event in found { notes.hooked[event.id, default: []].append(length) }
      }
      return .answer(204)
    }
  }

  var now: Notes { notes.withLock { $0 } }

  /// From now on the upstream takes what it refused at first.
  func mend() { isMended.withLock { $0 = true } }

  /// The events of a request, and the journal's length before the answer goes out: what the relay writes after it is further on.
  private func find(_ body: [UInt8]) -> (events: [EventFinder.Found], length: Int) {
    let length = journal.withLock { $0 }.map { Journal.length(of: $0) } ?? 0
    let found = finder.events(in: body)
    let foreign = found.filter { !$0.isWhole }.map(\.id)
    if !foreign.isEmpty { notes.withLock { $0.foreign += foreign } }
    return (found, length)
  }
}
