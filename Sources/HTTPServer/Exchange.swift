import CMicrohttpd
import Synchronization

/// One request on one connection. Its own object, so that a late second answer can't hit the connection's next request.
final class Exchange: HTTPExchange {
  let method: String
  let path: String
  let query: String?
  let clientAuthorities: [UInt8]?
  /// The host that a target in absolute form names: it counts, whatever `Host` says.
  private let authority: String?

  /// Unchecked because the library's pointer is in it, which is only used under the lock.
  private struct State: @unchecked Sendable {
    /// The library's connection, good until the request is complete; always used under the lock.
    var handle: OpaquePointer?
    var body: BodyBuffer?
    var answer: HTTPResponse?
    var isAnswered = false
    /// The connection is suspended: its thread must be told of the answer.
    var isWaiting = false
  }

  private let state: Mutex<State>
  private let mailbox: Mailbox
  // Only the listener's thread touches it; nil when the request is complete.
  nonisolated(unsafe) var connection: Connection?

  init(method: String, target: Target, handle: OpaquePointer, connection: Connection, mailbox: Mailbox) {
    self.method = method
    path = target.path
    query = target.query
    clientAuthorities = connection.session?.identity.clientAuthorities
    authority = target.authority
    self.connection = connection
    self.mailbox = mailbox
    state = Mutex(State(handle: handle))
  }

  func header(_ name: StaticString) -> String? {
    if let authority, UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount).isToken("host") {
      return authority
    }
    return state.withLock { state in
      guard let handle = state.handle else { return nil }
      var search = HeaderSearch(name)
      withUnsafeMutablePointer(to: &search) { search in
        _ = MHD_get_connection_values_n(
          handle, .HEADER_KIND,
          { context, _, name, nameLength, value, valueLength in
            context!.assumingMemoryBound(to: HeaderSearch.self).pointee.note(
              name: UnsafeRawBufferPointer(start: name, count: nameLength),
              value: UnsafeRawBufferPointer(start: value, count: value == nil ? 0 : valueLength))
            return MHD_Result.YES
          }, search)
      }
      return search.value
    }
  }

  var body: UnsafeRawBufferPointer {
    state.withLock { $0.body }?.content ?? BodyBuffer.empty
  }

  func respond(_ response: HTTPResponse) {
    let wakes = state.withLock { state in
      guard !state.isAnswered else { return false }
      state.isAnswered = true
      if state.handle == nil {
        // The client is gone, or the server stopped.
        state.body = nil
      } else {
        state.answer = response
      }
      return state.isWaiting
    }
    if wakes { mailbox.post(self) }
  }

  // MARK: The listener's thread

  func setBody(_ body: BodyBuffer?) { state.withLock { $0.body = body } }

  /// The answer, once.
  func takeAnswer() -> HTTPResponse? {
    state.withLock { state in
      guard state.isAnswered else { return nil }
      defer { state.answer = nil }
      state.body = nil
      return state.answer
    }
  }

  /// Whether nobody reads the body any more.
  var isAnswered: Bool { state.withLock { $0.isAnswered } }

  /// Asks to be told of the answer; false when it is there already.
  func startWaiting() -> Bool {
    state.withLock { state in
      if state.isAnswered { return false }
      state.isWaiting = true
      return true
    }
  }

  /// The request is over, one way or the other. A body that somebody may still be reading stays until the answer.
  func complete() {
    connection = nil
    state.withLock { state in
      state.handle = nil
      state.isWaiting = false
      state.answer = nil
      if state.isAnswered { state.body = nil }
    }
  }
}
