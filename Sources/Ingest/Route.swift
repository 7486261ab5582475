import EventsAPI
import HTTPServer

/// What a request asks for.
enum Route: String, Sendable, Hashable {
  case events = "/v1/events"
  case identify = "/v1/identify"
  case other

  init(path: String) {
    switch path {
    case "/v1/events": self = .events
    case "/v1/identify": self = .identify
    default: self = .other
    }
  }

  /// What is wrong with a request's head; nil when nothing is.
  static func fault(method: String, path: String, contentType: String?) -> APIError? {
    switch Route(path: path) {
    case .other:
      return .notFound("Nothing is served at this path; events go to POST /v1/events, links to POST /v1/identify.")
    case .events, .identify:
      guard method == "POST" else { return .methodNotAllowed("Only POST is served at \(path).") }
      guard isJSON(contentType) else {
        return .unsupportedMediaType("The body must be application/json; send that as Content-Type.")
      }
      return nil
    }
  }

  /// A missing header and any `application/…+json` are taken as JSON.
  static func isJSON(_ contentType: String?) -> Bool {
    guard let contentType, !contentType.isEmpty else { return true }
    let type = contentType.prefix { $0 != ";" }.trimmingSuffix { $0 == " " || $0 == "\t" }.lowercased()
    return type == "application/json" || (type.hasPrefix("application/") && type.hasSuffix("+json"))
  }
}

extension Substring {
  fileprivate func trimmingSuffix(while drop: (Character) -> Bool) -> Substring {
    var text = self
    while let last = text.last, drop(last) { text.removeLast() }
    return text
  }
}
