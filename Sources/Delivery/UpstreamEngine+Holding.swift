import Dialects
import EventLog
import Observability

/// Why nothing of a lane is sent until somebody changes something.
enum HoldReason {
  case keyless
  /// Its events were accepted for another upstream: the whole sentence.
  case otherUpstream(String)
  /// Its next events came by another protocol than the app speaks.
  case otherProtocol(UInt8)

  func words(_ lane: DeliveryLane) -> String {
    switch self {
    case .keyless:
      "App \(lane.app) has no write key any more: put it back under apps with its write_key; its events wait."
    case .otherUpstream(let sentence): sentence
    case .otherProtocol(let number):
      UpstreamOpening.otherProtocol(
        "Events wait of app \(lane.app)", DialectRegistry.name(of: number),
        lane.upstream.configuration.dialect.name)
    }
  }
}

// Lanes whose events may not go to the upstream that is configured.
extension UpstreamEngine {
  func holdReason(_ lane: DeliveryLane) -> HoldReason? {
    let sentence = opening.holdsNothing ? nil : holdSentence(of: lane.app)
    guard lane.isKeyless || sentence != nil || lane.heldDialect != nil else { return nil }
    if context.keys.upstreamKey(ofApp: lane.app) == nil { return .keyless }
    if let sentence { return .otherUpstream(sentence) }
    return lane.heldDialect.map { .otherProtocol($0) }
  }

  /// Why nothing of an app goes to the upstream it has now.
  func holdSentence(of app: String) -> String? {
    if let hold = opening.appHolds[app] { return hold }
    // (An app that has, or had, its own is judged by itself.)
    return own[app] == nil && record.apps[app] == nil ? opening.usualHold : nil
  }

  /// Says what is held, once for each configuration.
  func tellHolds() {
    let first = opening.usualHold ?? opening.appHolds.min { $0.key < $1.key }?.value
    board.change { $0.hold = first }
    if let hold = opening.usualHold {
      context.logger.error("nothing is sent upstream", about: UpstreamContext.destination, ["reason": .text(hold)])
    }
    for (app, hold) in opening.appHolds.sorted(by: { $0.key < $1.key }) {
      context.logger.error(
        "nothing of an app is sent upstream", about: UpstreamContext.destination,
        ["app": .text(app), "reason": .text(hold)])
    }
  }

  /// Looks again at lanes that are held for their next events: the log may have dropped those.
  func lookAtHeld() {
    for lane in lanes.values where lane.heldDialect != nil {
      lane.heldDialect = nil
      lane.notice = nil
      consider(lane)
    }
  }

  /// Holds a lane whose next events came by another protocol than its app speaks.
  func hold(_ lane: DeliveryLane, dialect: UInt8) {
    lane.heldDialect = dialect
    guard lane.isNews("dialect \(dialect)") else { return }
    let words = HoldReason.otherProtocol(dialect).words(lane)
    context.logger.error(
      "nothing of an app is sent upstream", about: UpstreamContext.destination,
      ["app": .text(lane.app), "reason": .text(words)])
  }
}
