import CTestTLS
import Glibc

/// How a ``RawClient`` speaks TLS. It trusts whatever certificate it is shown.
public struct TLSClient: Sendable {
  /// Tests that are run both ways set it for their clients.
  @TaskLocal public static var current: TLSClient?

  /// `0x0303` for TLS 1.2, `0x0302` for 1.1; 0: the newest.
  public var maxVersion: Int32 = 0
  /// What the client shows of itself; nil: nothing.
  public var identity: TestCertificate?

  public init(maxVersion: Int32 = 0, identity: TestCertificate? = nil) {
    self.maxVersion = maxVersion
    self.identity = identity
  }
}

/// One session of a client's over a socket that blocks. Its handshake comes with its first byte.
///
/// Unchecked because only its client's queue touches it.
final class TLSClientSession: @unchecked Sendable {
  private let handle: OpaquePointer
  private var isSecured: Bool?

  init(_ descriptor: Int32, _ client: TLSClient) throws {
    guard
      let handle = test_tls_new(descriptor, client.maxVersion, client.identity?.certificate, client.identity?.key)
    else { throw RawClient.Failure(description: "the client's certificate can't be used") }
    self.handle = handle
  }

  deinit { test_tls_free(handle) }

  /// Whether the handshake is done; tried once.
  func secure() -> Bool {
    if let isSecured { return isSecured }
    let isDone = test_tls_handshake(handle) == 1
    isSecured = isDone
    return isDone
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    secure() ? test_tls_write(handle, bytes.baseAddress, bytes.count) : -1
  }

  /// 0 at the end, however it came.
  func read(_ bytes: UnsafeMutableRawBufferPointer) throws -> Int {
    guard secure() else { return 0 }
    let count = test_tls_read(handle, bytes.baseAddress, bytes.count)
    if count < 0, errno == EAGAIN { throw RawClient.Failure(description: "nothing came for five minutes") }
    return max(count, 0)
  }

  func finish() { if isSecured == true { test_tls_finish(handle) } }

  /// The server's certificate, DER.
  var peer: [UInt8] {
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = test_tls_peer(handle, &bytes)
    defer { free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: count))
  }

  var version: String { String(cString: test_tls_version(handle)) }
  var error: String { String(cString: test_tls_error(handle)) }
}
