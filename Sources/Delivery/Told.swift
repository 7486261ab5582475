/// Something about an app that is logged once an hour, since an upstream may do it with every answer.
struct Told: Hashable {
  enum Matter: Hashable {
    case tooManyNames
    case oddCounts
    case longRetryAfter
    case limitedInstall
    case unnamedRejections
    case gaveUp
    case learntLimit
    case refused(status: Int)
  }

  var matter: Matter
  var app: String
}

extension UpstreamEngine {
  /// Whether this is the first time in this hour.
  func isNews(_ matter: Told.Matter, of app: String) -> Bool {
    toldLately.insert(Told(matter: matter, app: app)).inserted
  }
}

extension DeliveryLane {
  /// Kinds of failures that are told apart; what comes past them is no news.
  private static let toldMax = 16

  /// Whether a kind of failure is the first of its kind since something was delivered.
  func isNews(_ failure: String) -> Bool { toldOf.count < Self.toldMax && toldOf.insert(failure).inserted }
}
