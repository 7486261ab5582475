/// An answer on its way to a client.
public struct HTTPResponse: Sendable {
  public var status: Int
  /// Further headers; `Content-Length`, `Date` and `Connection` are the server's.
  public var headers: [(name: String, value: String)]
  public var body: [UInt8]
  /// Ends the connection after this answer.
  public var closesConnection: Bool

  public init(
    status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], closesConnection: Bool = false
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.closesConnection = closesConnection
  }

  public static func json(_ status: Int, _ body: [UInt8], headers: [(name: String, value: String)] = []) -> HTTPResponse
  {
    HTTPResponse(status: status, headers: headers.isEmpty ? jsonHeaders : jsonHeaders + headers, body: body)
  }

  // One array for all: an answer allocates nothing for it.
  private static let jsonHeaders = [(name: "Content-Type", value: "application/json")]
}

/// Where a server listens.
public enum ListenAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IPv4 or IPv6 address without brackets; port 0 takes a free one.
  case tcp(host: String, port: Int)
  case unix(path: String)

  public var description: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix(let path): "unix:\(path)"
    }
  }
}

/// What a handler says when a request's head is there and its body isn't.
public enum HeadDecision: Sendable {
  /// Read the body (decoded per `Content-Encoding`) up to so many decoded bytes, then call `handle`.
  /// A longer one is answered by `tooLarge`.
  case readBody(limit: Int)
  /// Answer with this. A body that comes all the same is read and thrown away first, up to 8 MiB or 2 s.
  case answer(HTTPResponse)
}

/// What answers requests. Its methods are called on the server's threads and must not block for long.
public protocol HTTPHandler: Sendable {
  func head(of exchange: any HTTPExchange) -> HeadDecision
  /// The body is there: answer now or later, on any thread, with `exchange.respond`, exactly once.
  func handle(_ exchange: any HTTPExchange)
  /// The answers the server itself has to give, in the handler's own form.
  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse
}

/// What is wrong with a request before anybody looks into its body.
public enum HTTPFault: Sendable, Equatable {
  /// Over the limit that the handler named.
  case bodyTooLarge(limit: Int)
  /// `Content-Encoding` is something else than gzip, deflate or identity.
  case unsupportedEncoding
  /// The body isn't what its `Content-Encoding` says.
  case undecodableBody
  /// Both `Content-Length` and `Transfer-Encoding`, two lengths, an unknown transfer coding.
  case badFraming(detail: String)
  /// The body didn't come within `body_timeout`.
  case bodyTimeout
  /// The bodies of all connections together have reached the server's ``HTTPServerConfiguration/maxBodyMemory``:
  /// to be answered with 503 and a `Retry-After`.
  case overloaded
}
