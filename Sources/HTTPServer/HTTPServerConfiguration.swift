/// Limits and addresses of one server.
public struct HTTPServerConfiguration: Sendable {
  public var listen: [ListenAddress]
  /// Over all listeners; who comes past it is closed at once.
  public var maxConnections: Int
  /// From the first byte of a request (or the connection's start) to the end of its head. Absolute: no dribbling.
  public var headerTimeout: Duration
  /// From the end of the head to the end of the body. Absolute.
  public var bodyTimeout: Duration
  /// Between requests of one connection. Also how long a client may leave an answer without taking any of it.
  public var idleTimeout: Duration

  /// Bytes that the bodies of all connections may hold together; what comes past it is answered by
  /// ``HTTPFault/overloaded``.
  public var maxBodyMemory = 256 << 20
  /// Bytes of an unwanted body that are read and thrown away before its answer.
  public var maxDiscarded = 8 << 20
  /// For how long an unwanted body is read and thrown away before its answer.
  public var discardTimeout: Duration = .seconds(2)
  /// The permissions of unix sockets. 0600: this user alone; 0660: the group too.
  public var unixSocketMode: UInt32 = 0o600

  /// What TCP listeners speak TLS with; nil: they speak plain HTTP. Unix sockets always do.
  public var tls: TLSIdentity?

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
