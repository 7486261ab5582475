import Dialects
import EventsAPI
import HTTPServer

/// Which protocol serves which path.
struct DialectRoutes: Sendable {
  struct Served: Sendable {
    var dialect: any Dialect
    var route: IncomingRoute
  }

  private let byPath: [String: Served]
  private let dialects: [any Dialect]

  init(_ dialects: [any Dialect]) {
    var byPath: [String: Served] = [:]
    for dialect in dialects {
      for route in dialect.incoming.routes {
        precondition(byPath[route.path] == nil, "two protocols serve \(route.path)")
        byPath[route.path] = Served(dialect: dialect, route: route)
      }
    }
    self.byPath = byPath
    self.dialects = dialects
  }

  subscript(path: String) -> Served? { byPath[path] }

  /// The paths of those protocols whose numbers are let through, as messages list them.
  func paths(ofDialects isWanted: (UInt8) -> Bool) -> String {
    dialects.filter { isWanted($0.number) }.flatMap(\.incoming.routes).map(\.path).joined(separator: ", ")
  }

  /// What metrics call a path: one that nobody serves is `other`, whatever it is.
  func label(of path: String) -> String { byPath[path] == nil ? "other" : path }

  /// Whether a body is said to be JSON. A missing header and any `application/…+json` are taken as that.
  static func isJSON(_ contentType: String?) -> Bool {
    guard let contentType, !contentType.isEmpty else { return true }
    let type = contentType.prefix { $0 != ";" }.trimmingSuffix { $0 == " " || $0 == "\t" }.lowercased()
    return type == "application/json" || (type.hasPrefix("application/") && type.hasSuffix("+json"))
  }
}

/// A request of the server's, as protocols look at it.
struct ServedRequest: IncomingRequest {
  let exchange: any HTTPExchange

  var method: String { exchange.method }
  var path: String { exchange.path }
  func header(_ name: StaticString) -> String? { exchange.header(name) }
}

extension Substring {
  fileprivate func trimmingSuffix(while drop: (Character) -> Bool) -> Substring {
    var text = self
    while let last = text.last, drop(last) { text.removeLast() }
    return text
  }
}
