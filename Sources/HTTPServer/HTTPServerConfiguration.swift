/// Limits and addresses of one server.
public struct HTTPServerConfiguration: Sendable {
  public var listen: [ListenAddress]
  /// Over all listeners; who comes past it is closed at once.
  public var maxConnections: Int
  /// From the first byte of a request (or the connection's start) to the end of its head. Absolute: no dribbling.
  public var headerTimeout: Duration
  /// From the end of the head to the end of the body. Absolute.
  public var bodyTimeout: Duration
  /// Between requests of one connection.
  public var idleTimeout: Duration

  public init(
    listen: [ListenAddress], maxConnections: Int = 1024, headerTimeout: Duration = .seconds(10),
    bodyTimeout: Duration = .seconds(30), idleTimeout: Duration = .seconds(75)
  ) {
    self.listen = listen
    self.maxConnections = maxConnections
    self.headerTimeout = headerTimeout
    self.bodyTimeout = bodyTimeout
    self.idleTimeout = idleTimeout
  }
}
