/// A request to an upstream or a webhook.
public struct HTTPClientRequest: Sendable {
  public var method: String
  public var url: String
  /// Whole lines, `Name: value`.
  public var headers: [String]
  public var body: RequestBody?
  /// From the start to the answer's last byte.
  public var timeout: Duration
  public var connectTimeout: Duration
  /// The authorities to trust in place of the system's; nil: the system's.
  public var caFile: PEMSource?
  /// Public keys, each as `sha256//` and the Base64 of its SHA-256. The server must have one of them, and nothing else of its
  /// certificate counts: not its authority, name or end. Empty: the certificate is verified.
  public var pinnedKeys: [String] = []
  /// What the client shows of itself when it is asked to; nil: nothing.
  public var clientCertificate: ClientCertificate?
  /// A unix socket to connect to, whatever the URL's host is.
  public var unixSocket: String?
  /// Bytes of the answer's body that are wanted, at most ``HTTPAnswer/bodyBytesMax``; a longer one is cut, and its connection closed.
  public var answerBytesMax = HTTPAnswer.bodyBytesMax

  public init(
    method: String = "POST", url: String, headers: [String] = [], body: RequestBody? = nil,
    timeout: Duration = .seconds(30),
    connectTimeout: Duration = .seconds(10), caFile: PEMSource? = nil, clientCertificate: ClientCertificate? = nil,
    unixSocket: String? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
    self.connectTimeout = connectTimeout
    self.caFile = caFile
    self.clientCertificate = clientCertificate
    self.unixSocket = unixSocket
  }
}

/// A certificate and its key.
public struct ClientCertificate: Sendable, Equatable {
  /// The certificate, and those between it and its authority behind it.
  public var certificate: PEMSource
  public var key: PEMSource

  public init(certificate: PEMSource, key: PEMSource) {
    self.certificate = certificate
    self.key = key
  }
}

/// The bytes of a request: filled, sent, and used again for the next one.
///
/// Unchecked because it is handed over, never shared: its owner doesn't touch it between `send` and the answer.
public final class RequestBody: @unchecked Sendable {
  public private(set) var bytes: UnsafeMutableRawBufferPointer
  public private(set) var count = 0

  public init(capacity: Int = 64 * 1024) {
    bytes = .allocate(byteCount: max(capacity, 1), alignment: 16)
  }

  public convenience init(_ content: [UInt8]) {
    self.init(capacity: content.count)
    append(content)
  }

  deinit { bytes.deallocate() }

  public func removeAll() { count = 0 }

  public func append(_ source: UnsafeRawBufferPointer) {
    reserve(source.count)
    if let base = source.baseAddress {
      bytes.baseAddress!.advanced(by: count).copyMemory(from: base, byteCount: source.count)
    }
    count += source.count
  }

  public func append(_ source: some Collection<UInt8>) {
    if source.withContiguousStorageIfAvailable({ append(UnsafeRawBufferPointer($0)) }) == nil {
      append(Array(source))
    }
  }

  public func append(_ byte: UInt8) {
    reserve(1)
    bytes[count] = byte
    count += 1
  }

  public var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

  private func reserve(_ more: Int) {
    guard count + more > bytes.count else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count + more, bytes.count * 2), alignment: 16)
    grown.copyMemory(from: content)
    bytes.deallocate()
    bytes = grown
  }
}

/// What came back.
public struct HTTPAnswer: Sendable {
  public var status: Int
  /// Header names in lower case, in the order they came.
  public var headers: [(name: String, value: String)]
  /// At most ``bodyBytesMax`` bytes.
  public var body: [UInt8]
  /// The body was longer than what was kept.
  public var isBodyCut: Bool

  public static let bodyBytesMax = 1024 * 1024

  public init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = [], isBodyCut: Bool = false) {
    self.status = status
    self.headers = headers
    self.body = body
    self.isBodyCut = isBodyCut
  }

  /// All values of a header, named in lower case.
  public func values(of name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
}

/// Why there is no answer.
public struct TransportFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// A closed set, for metrics and states.
  public enum Kind: String, Sendable, CaseIterable {
    case resolve, connect, tls, timeout, reset, protocolError = "protocol", other
  }

  public var kind: Kind
  /// What happened, in the library's words; no secret and no key.
  public var description: String

  public init(kind: Kind, description: String) {
    self.kind = kind
    self.description = description
  }
}
