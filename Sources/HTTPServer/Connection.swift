import CMicrohttpd
import Glibc

/// One client's connection, and the request that is under way on it. Confined to its listener's thread.
final class Connection {
  /// What becomes of the bytes of a body.
  enum Plan {
    /// No request's head is there.
    case none
    /// They are kept, up to so many decoded bytes.
    case collect(limit: Int)
    /// They are thrown away; when all are, this is the answer.
    case discard(HTTPResponse, left: Int)
    /// The answer was written and our side closed; what still comes is dropped.
    case drain(left: Int)
    /// The body is there, or never was one.
    case done
  }

  let handle: OpaquePointer
  let descriptor: Int32
  /// Nil when the connection is plain, or can't be secured and has to end.
  let session: TLSSession?
  // The listener ends all its connections before it goes.
  unowned(unsafe) let listener: Listener
  /// Its place among the listener's connections.
  var index = 0
  var timer: ConnectionTimer
  var target: Target?
  var exchange: Exchange?
  var plan = Plan.none
  /// The library doesn't look at it until it is resumed.
  var isSuspended = false
  /// The listener has asked for its next byte.
  var isWatched = false
  var isOpen = true
  /// The client has closed its own side; it may still wait for an answer.
  var hasFinished = false
  /// It is being ended.
  var isCut = false
  var progress: UInt64 = 0
  /// Whom it comes from; nil: over a unix socket.
  var peer: PeerNetwork?
  var buffer: BodyBuffer?
  var decoding = BodyDecoding.none
  /// Where the request's target lies in memory, and its bytes up to the first zero byte.
  private var targetPlace: (begin: UnsafeRawPointer, count: Int)?
  /// Whether what follows this request could be told from it for sure by everybody who read it.
  private var isPlainlyFramed = true

  init(handle: OpaquePointer, listener: Listener) {
    self.handle = handle
    self.listener = listener
    descriptor = mhd_descriptor(handle)
    session = listener.identity.flatMap { TLSSession(of: handle, $0) }
    timer = ConnectionTimer(listener.limits, now: listener.now)
  }

  // MARK: Head

  /// The request line is there.
  func headBegan(_ uri: UnsafePointer<CChar>?) {
    timer.headBegan(now: listener.now)
    listener.deadlineSet(timer.deadline)
    listener.hurry(self)
    let text = UnsafeRawBufferPointer(start: uri, count: uri.map { strlen($0) } ?? 0)
    targetPlace = text.baseAddress.map { ($0, text.count) }
    target = Target(text)
  }

  /// The whole head is there: decides what becomes of the request.
  func headEnded(method: UnsafePointer<CChar>, version: UnsafePointer<CChar>) -> MHD_Result {
    if let session, !session.isWelcome { return MHD_Result.NO }
    let head = readHead()
    let exchange = Exchange(
      method: String(cString: method), target: target ?? Target(UnsafeRawBufferPointer(start: nil, count: 0)),
      handle: handle, connection: self, mailbox: listener.mailbox)
    self.exchange = exchange
    timer.headEnded(now: listener.now)
    listener.deadlineSet(timer.deadline)
    // `HTTP/1.0`
    let isHTTP10 = strlen(version) == 8 && version[7] == CChar(UInt8(ascii: "0"))
    isPlainlyFramed = !head.isChunked
    let line = RequestLine(method: method, target: targetPlace, version: version)
    if let detail = line.fault ?? target?.fault(method: exchange.method) ?? head.badFraming(isHTTP10: isHTTP10) {
      return answer(listener.handler.fault(.badFraming(detail: detail), of: exchange), closing: true)
    }
    switch listener.handler.head(of: exchange) {
    case .answer(let response): return refuse(with: response, head, isHTTP10: isHTTP10)
    case .readBody(let limit):
      if head.hasBody, head.encoding == .unknown {
        return refuse(with: listener.handler.fault(.unsupportedEncoding, of: exchange), head, isHTTP10: isHTTP10)
      }
      if head.encoding == .identity, let length = head.contentLength, length > UInt64(max(limit, 0)) {
        return refuse(
          with: listener.handler.fault(.bodyTooLarge(limit: limit), of: exchange), head, isHTTP10: isHTTP10)
      }
      return collect(head, limit: max(limit, 0))
    }
  }

  private func readHead() -> RequestHead {
    var noted = (head: RequestHead(), layout: HeadLayout())
    withUnsafeMutablePointer(to: &noted) { noted in
      _ = MHD_get_connection_values_n(
        handle, .HEADER_KIND,
        { context, _, name, nameLength, value, valueLength in
          let noted = context!.assumingMemoryBound(to: (head: RequestHead, layout: HeadLayout).self)
          let name = UnsafeRawBufferPointer(start: name, count: nameLength)
          let value = UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueLength)
          noted.pointee.layout.note(name: name, value: value)
          noted.pointee.head.note(name: name, value: value)
          return MHD_Result.YES
        }, noted)
    }
    noted.layout.finish()
    noted.head.hasBadLayout = noted.layout.isBroken
    return noted.head
  }

  /// Answers before the body: at once when the client waits to be told to send it, else after throwing it away.
  private func refuse(with response: HTTPResponse, _ head: RequestHead, isHTTP10: Bool) -> MHD_Result {
    if head.hasBody, head.expectsContinue, !isHTTP10 { return answer(response, closing: true) }
    plan = .discard(response, left: listener.configuration.maxDiscarded)
    if head.hasBody { discardingBegan() }
    return MHD_Result.YES
  }

  func discardingBegan() {
    timer.discardingBegan(now: listener.now)
    listener.deadlineSet(timer.deadline)
  }

  private func collect(_ head: RequestHead, limit: Int) -> MHD_Result {
    plan = .collect(limit: limit)
    guard head.hasBody else { return MHD_Result.YES }
    if buffer == nil || !isKnownUniquelyReferenced(&buffer) { buffer = BodyBuffer(budget: listener.shared.budget) }
    buffer?.removeAll()
    switch head.encoding {
    case .gzip: decoding = .holding(.gzip)
    case .deflate: decoding = .holding(.deflate)
    case .identity, .unknown: break
    }
    // What the client says it will send is believed up to a point.
    let trusted = decoding.isNone ? BodyBuffer.trustedMax : BodyDecoding.heldMax
    let expected = min(Int(clamping: head.contentLength ?? 0), trusted, limit)
    if expected > 0, buffer?.reserve(expected, limit: limit) != true { overloaded() }
    return MHD_Result.YES
  }

  // MARK: Answer

  /// Hands the answer to the library.
  func answer(_ response: HTTPResponse, closing: Bool = false) -> MHD_Result {
    plan = .done
    // The body was for the answer: a large one isn't kept until that is sent.
    if let buffer, buffer.capacity > BodyBuffer.keptMax, exchange?.isAnswered != false { buffer.release() }
    timer.answerBegan(now: listener.now)
    listener.deadlineSet(timer.deadline)
    progress = 0
    let closes = closing || response.closesConnection || listener.isStopping || !isPlainlyFramed
    return response.queue(on: handle, closing: closes)
  }

  /// Answers while the body is still coming, past the library, which can't: writes the answer, closes our side and
  /// goes on reading for a moment, since closing at once could take the answer away from the client again.
  func abandon(with response: HTTPResponse) {
    releaseBody()
    let bytes = response.serialized(withBody: exchange?.method != "HEAD")
    if let session {
      session.send(bytes)
      session.end()
    } else {
      _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
    }
    shutdown(descriptor, Int32(SHUT_WR))
    plan = .drain(left: listener.configuration.maxDiscarded)
    timer.lingeringBegan(now: listener.now)
    listener.deadlineSet(timer.deadline)
  }

  /// The request is over: answered, or the client is gone.
  func requestEnded() {
    exchange?.complete()
    exchange = nil
    target = nil
    targetPlace = nil
    isPlainlyFramed = true
    plan = .none
    releaseDecoder()
    // Only a buffer that nobody else holds can be used again, and a large one isn't kept.
    if buffer != nil, !isKnownUniquelyReferenced(&buffer) { buffer = nil }
    if let buffer, buffer.capacity > BodyBuffer.keptMax { buffer.release() }
    // The next request may have no body: then this one's must not stand in its place.
    buffer?.removeAll()
    timer.requestEnded(now: listener.now)
    listener.deadlineSet(timer.deadline)
    if hasFinished { listener.finishes(self) }
  }

  // MARK: Time

  /// Its deadline has passed.
  func expired() {
    switch timer.expire(now: listener.now) {
    case .watch:
      // Idle for longer than a busy client is: its memory is given back.
      buffer = nil
      listener.watch(self)
    case .cut: cut()
    case .answerBodyTimeout:
      guard let exchange else { return cut() }
      abandon(with: listener.handler.fault(.bodyTimeout, of: exchange))
    case .answerUnread:
      guard case .discard(let response, _) = plan else { return cut() }
      abandon(with: response)
    case .checkProgress:
      let now = mhd_socket_progress(descriptor)
      if now == progress { cut() }
      progress = now
    }
  }
}
