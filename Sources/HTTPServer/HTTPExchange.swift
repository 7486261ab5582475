/// One request and the answer to it.
public protocol HTTPExchange: AnyObject, Sendable {
  /// As sent, `POST`.
  var method: String { get }
  /// The target's path as sent, without the query.
  var path: String { get }
  /// What stands behind the `?`, as sent; nil without one.
  var query: String? { get }

  /// By which authorities' certificates the client was let in when it connected, as ``TLSIdentity/Parts`` has them; nil when
  /// none was asked for.
  var clientAuthorities: [UInt8]? { get }

  /// A header's value without the white space around it, by its name in any case; nil when it wasn't sent. One that was
  /// sent more than once has all its different values, in their order and joined by `, `.
  func header(_ name: StaticString) -> String?

  /// The decoded body; readable for at least 64 bytes past its end. Good from `handle` until `respond` is called.
  var body: UnsafeRawBufferPointer { get }

  /// Answers. Exactly once, from any thread; what comes after the first call is ignored.
  func respond(_ response: HTTPResponse)
}
