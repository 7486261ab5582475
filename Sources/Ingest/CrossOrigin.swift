import Apps
import HTTPServer

/// What browsers are told about pages of other origins: who may post, and what (the Fetch standard's CORS protocol).
enum CrossOrigin {
  /// How long a browser may go on by a preflight's answer.
  private static let maxAgeSeconds = 3600

  /// The answer to a preflight request from an origin that may post.
  static func preflight(_ origin: String) -> HTTPResponse {
    HTTPResponse(
      status: 204,
      headers: headers(origin) + [
        ("Access-Control-Allow-Methods", "POST"),
        (
          "Access-Control-Allow-Headers",
          "Content-Type, X-API-Key, X-Batch-Size, X-Publishable-Key, X-Analytics-Consent"
        ),
        ("Access-Control-Max-Age", "\(maxAgeSeconds)"),
      ])
  }

  /// What lets a page of the origin read an answer.
  static func headers(_ origin: String) -> [(name: String, value: String)] {
    [("Access-Control-Allow-Origin", origin), ("Vary", "Origin")]
  }
}
