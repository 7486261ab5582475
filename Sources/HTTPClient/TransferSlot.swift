import CCurl

/// A handle of libcurl's with what belongs to it, used for one transfer after the other.
final class TransferSlot {
  /// What all handles have in common.
  struct Setup {
    let userAgent: String
    /// Whether there is a proxy in the environment to look for.
    let mayUseProxy: Bool

    init(userAgent: String) {
      self.userAgent = userAgent
      mayUseProxy = client_environment_has_proxy() != 0
    }
  }

  /// What becomes of a transfer that libcurl is done with.
  enum Ending {
    case result(Result<HTTPAnswer, TransportFailure>)
    case sendAgain
  }

  let handle: UnsafeMutableRawPointer
  var transfer: Transfer?
  /// Where it stands among the busy ones.
  var index = 0
  private var headerList = HeaderList()
  private var collector = AnswerCollector()
  private let errorText: UnsafeMutablePointer<CChar>

  /// The header lines of the last request, which cost nothing when they are sent again.
  var headers: [String] { headerList.lines }

  init?(_ setup: Setup) {
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    let made = setup.userAgent.withCString { userAgent in
      client_handle_create(userAgent, setup.mayUseProxy ? 1 : 0, errorText)
    }
    guard let made else {
      errorText.deallocate()
      return nil
    }
    handle = made
    self.errorText = errorText
    client_handle_connect(
      made, Unmanaged.passUnretained(self).toOpaque(),
      { bytes, size, count, context in
        let slot = Unmanaged<TransferSlot>.fromOpaque(context!).takeUnretainedValue()
        return slot.collector.addHeaderLine(UnsafeRawBufferPointer(start: bytes, count: size * count))
          ? size * count : 0
      },
      { bytes, size, count, context in
        let slot = Unmanaged<TransferSlot>.fromOpaque(context!).takeUnretainedValue()
        return slot.collector.addBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      })
  }

  deinit {
    curl_easy_cleanup(handle)
    headerList.free()
    errorText.deallocate()
  }

  /// Makes the handle ready for a transfer; why not, else.
  func prepare(_ transfer: Transfer) -> TransportFailure? {
    let request = transfer.request
    guard request.method.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }),
      !request.method.isEmpty
    else { return TransportFailure(kind: .other, description: "the method is not a word of capital letters") }
    if let fault = headerList.set(request.headers, hasBody: request.body != nil) {
      return TransportFailure(kind: .other, description: fault)
    }
    errorText[0] = 0
    collector.reset(bodyBytesMax: request.answerBytesMax)
    let code = setOptions(transfer)
    guard code == CURLE_OK else { return TransportFailure(code: code, text: errorString, proxyStatus: 0) }
    self.transfer = transfer
    transfer.slot = self
    return nil
  }

  private func setOptions(_ transfer: Transfer) -> CURLcode {
    let request = transfer.request
    let timeout: Int
    if let deadline = transfer.deadline {
      timeout = (deadline - .now).millisecondsRoundedUp
    } else {
      transfer.deadline = .now + request.timeout
      timeout = request.timeout.millisecondsRoundedUp
    }
    let pins = request.pinnedKeys.isEmpty ? nil : request.pinnedKeys.joined(separator: ";")
    return request.url.withCString { url in
      request.method.withCString { method in
        withOptionalCString(pins) { pins in
          withPEMs(
            request.unixSocket, request.caFile, request.clientCertificate?.certificate, request.clientCertificate?.key
          ) { unixSocket, authorities, certificate, key in
            var options = client_request(
              url: url, method: method, headers: headerList.list,
              body: request.body.map { UnsafeRawPointer($0.bytes.baseAddress!) },
              body_length: Int64(request.body?.count ?? 0),
              // Libcurl takes 0 for endless.
              timeout_ms: max(timeout, 1), connect_timeout_ms: max(request.connectTimeout.millisecondsRoundedUp, 1),
              authorities: authorities, pinned_keys: pins, client_certificate: certificate, client_key: key,
              unix_socket: unixSocket,
              fresh_connection: transfer.isRepeated ? 1 : 0, avoid_proxy: Loopback.isHost(ofURL: request.url) ? 1 : 0)
            return client_transfer_prepare(handle, &options)
          }
        }
      }
    }
  }

  /// What a transfer comes to, before it is released.
  func ending(_ code: CURLcode) -> Ending {
    let outcome = client_transfer_outcome(handle)
    if collector.isComplete(code) { return .result(.success(collector.takeAnswer(status: outcome.status))) }
    if let fault = collector.fault {
      return .result(.failure(TransportFailure(kind: .protocolError, description: fault)))
    }
    guard code != CURLE_OK else { return .result(.failure(.cutOff)) }
    if TransportFailure.isLongLine(code) { return .result(.failure(.longLine)) }
    let isFirst = transfer?.isRepeated == false
    if isFirst, TransportFailure.isStaleConnection(code, connects: outcome.connects, hasAnswer: collector.hasBegun) {
      return .sendAgain
    }
    return .result(.failure(TransportFailure(code: code, text: errorString, proxyStatus: outcome.proxy_status)))
  }

  /// Lets go of the transfer and of the pointers that came with it. The header list stays.
  func finish() {
    client_transfer_release(handle)
    transfer?.slot = nil
    transfer = nil
    collector.reset()
  }

  private var errorString: String { errorText[0] == 0 ? "" : String(cString: errorText) }
}

/// Calls with the path and the PEM files as C has them, or with null.
private func withPEMs<R>(
  _ path: String?, _ one: PEMSource?, _ two: PEMSource?, _ three: PEMSource?,
  _ body: (UnsafePointer<CChar>?, client_pem, client_pem, client_pem) -> R
) -> R {
  withOptionalCString(path) { path in
    withPEM(one) { one in
      withPEM(two) { two in
        withPEM(three) { three in body(path, one, two, three) }
      }
    }
  }
}

private func withPEM<R>(_ source: PEMSource?, _ body: (client_pem) -> R) -> R {
  switch source {
  case .file(let path): path.withCString { body(client_pem(path: $0, bytes: nil, length: 0)) }
  case .bytes(let bytes):
    body(client_pem(path: nil, bytes: bytes.content.baseAddress, length: bytes.content.count))
  case nil: body(client_pem())
  }
}

private func withOptionalCString<R>(_ text: String?, _ body: (UnsafePointer<CChar>?) -> R) -> R {
  if let text { text.withCString { body($0) } } else { body(nil) }
}
