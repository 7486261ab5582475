/// Limits and addresses of one server.
public struct HTTPServerConfiguration: Sendable {
  public var listen: [ListenAddress]
  /// Over all listeners. For who comes past it one makes way that is idle or slow; if there is none, the new one is
  /// answered by ``crowded`` and closed.
  public var maxConnections: Int
  /// Of one address (IPv6: one network of 64 bits); who comes past it is answered by ``crowded`` and closed. 0: no limit;
  /// nil: three quarters of ``maxConnections`` for other machines' addresses, no limit for this one's. Unix sockets
  /// have none.
  public var maxConnectionsPerAddress: Int?
  /// From the first byte of a request (or the connection's start) to the end of its head. Absolute: no dribbling.
  public var headerTimeout: Duration
  /// From the end of the head to the end of the body. Absolute.
  public var bodyTimeout: Duration
  /// Between requests of one connection. Also how long a client may leave an answer without taking any of it.
  public var idleTimeout: Duration

  /// Bytes that the bodies of all connections may hold together; what comes past it is answered by
  /// ``HTTPFault/overloaded``.
  public var maxBodyMemory = 256 << 20
  /// What a connection is told for which there is no room.
  public var crowded = HTTPResponse.json(
    503, Array(#"{"code":"server_error","message":"Too many connections; come again."}"#.utf8),
    headers: [(name: "Retry-After", value: "1")])
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
