/// Tells which key an app's events go upstream with at this moment.
public protocol UpstreamKeys: Sendable {
  /// Nil when the app has none any more: its events are held.
  func upstreamKey(ofApp name: String) -> String?
}
