import CCurl

extension TransportFailure {
  static let cancelled = TransportFailure(kind: .other, description: "the request was cancelled")
  static let shutDown = TransportFailure(kind: .other, description: "the HTTP client is shut down")
  static let cutOff = TransportFailure(
    kind: .reset, description: "the connection was closed amid the answer's headers")
  static let longLine = TransportFailure(
    kind: .protocolError, description: "a line of the answer's head is too long")
  static let outOfMemory = TransportFailure(kind: .other, description: "libcurl can't be set up; is memory short?")
  static let tooManyRequests = TransportFailure(
    kind: .other, description: "more than \(TransferEngine.waitingMax) requests wait to be sent")

  /// - Parameters:
  ///   - text: libcurl's own description of this failure; empty: there is none, its name for the code serves.
  ///   - proxyStatus: what a proxy answered to CONNECT; 0: nothing.
  init(code: CURLcode, text: String, proxyStatus: Int) {
    // A text that may quote the URL could hold a password.
    let isUsable = !text.isEmpty && !text.utf8.contains(UInt8(ascii: "@"))
    let description = isUsable ? text : String(cString: curl_easy_strerror(code))
    let isRefusedByProxy = proxyStatus >= 300 && Self.kind(of: code) == .reset
    self.init(kind: isRefusedByProxy ? .connect : Self.kind(of: code), description: description)
  }

  /// Whether a request failed just because its connection had been closed by the other side while nobody used it: an open connection was taken, and
  /// not one byte came back. The request may be sent again then, on a new one.
  static func isStaleConnection(_ code: CURLcode, connects: Int, hasAnswer: Bool) -> Bool {
    guard connects == 0, !hasAnswer else { return false }
    return [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM].contains(code)
  }

  /// Whether a transfer failed because a header line had no end: libcurl gives up at 100 KB and calls that "out of memory", or from
  /// 8.6 on, "too large" (100).
  static func isLongLine(_ code: CURLcode) -> Bool { code == CURLE_OUT_OF_MEMORY || code.rawValue == 100 }

  static func kind(of code: CURLcode) -> Kind {
    switch code {
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .resolve
    case CURLE_COULDNT_CONNECT, CURLE_INTERFACE_FAILED, CURLE_PROXY: .connect
    case CURLE_OPERATION_TIMEDOUT: .timeout
    case CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE: .reset
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
      CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_PEER_FAILED_VERIFICATION, CURLE_USE_SSL_FAILED,
      CURLE_SSL_CACERT_BADFILE, CURLE_SSL_SHUTDOWN_FAILED, CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
      .tls
    case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3,
      CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
      .protocolError
    default: .other
    }
  }
}
