/// A request of the API.
public enum APIRoute: String, Sendable, CaseIterable {
  case events
  case identify

  /// The path under the base URL.
  public var path: String { "/v1/\(rawValue)" }
}
