/// Counts events that were answered as accepted and are kept nowhere, since their person is on the app's deny list.
public protocol SuppressionLedger: Sendable {
  /// Adds to an app's count.
  ///
  /// - Parameter completion: called once, on any thread: true when the new count survives a crash; false when it couldn't be
  ///   written, and doesn't count.
  func add(_ events: Int, app: String, completion: @escaping @Sendable (Bool) -> Void)
}
