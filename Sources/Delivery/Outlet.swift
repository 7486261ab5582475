import Apps
import Dialects

/// One upstream, and the protocol that is spoken with it.
struct OutletID: Hashable, Sendable {
  var base: String
  var dialect: UInt8

  init(_ configuration: UpstreamConfiguration) {
    base = configuration.base
    dialect = configuration.dialect.number
  }
}

/// What those lanes share that send to one upstream: its keys, their turns, what is under way there. No other lane is touched
/// by any of it.
///
/// Belongs to the engine's thread.
final class Outlet {
  let id: OutletID
  /// Lanes that want to send.
  var queue = LaneQueue()
  var inFlight = 0
  var inFlightBytes = 0
  /// By the keys themselves.
  var keys: [String: SendingKey] = [:]
  /// Since when the upstream can't be reached.
  var outageSince: ContinuousClock.Instant?

  init(_ id: OutletID) { self.id = id }

  /// What stands for a key on record. For the usual upstream it is the key's fingerprint alone.
  func recordID(ofKey key: String, usual: OutletID) -> String {
    if id == usual { return KeyFingerprint.of(key) }
    // (A stand-in, which is everybody's base, is at another address with each start.)
    let base = id.base == usual.base ? "" : id.base
    return KeyFingerprint.of("\(DialectRegistry.name(of: id.dialect)) \(base) \(key)")
  }
}
