import Glibc

extension Connection {
  /// Ends it. The library notices, and closes the socket; only this thread ever does, so it is still this connection's.
  func cut() {
    isCut = true
    // (Not in the midst of an answer: its end must be seen to be missing.)
    if let session, timer.isBetweenRequests, session.isSecured { session.end() }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Whether the client has sent something that nobody has read.
  var hasUnreadBytes: Bool {
    if let session, session.hasPending { return true }
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
  }
}
