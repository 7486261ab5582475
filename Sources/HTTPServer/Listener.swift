import CMicrohttpd
import Glibc
import Observability

/// One address's daemon and the thread that drives it. All of it is confined to that thread; others use its mailbox.
///
/// The library is driven from outside rather than by a thread of its own, so that deadlines, answers from other threads
/// and the end of connections are all dealt with between its turns: nothing ever touches a socket that could have been
/// closed and given to someone else meanwhile.
final class Listener {
  let shared: ServerShared
  let mailbox = Mailbox()
  /// For connections that are opened from now on.
  private(set) var limits: ConnectionTimer.Limits
  /// Nanoseconds of the monotonic clock, at the beginning of this turn.
  private(set) var now = monotonicNow()
  private(set) var isStopping = false
  var connections: [Connection] = []
  /// Requests whose answer wasn't there when their handler returned.
  var unanswered: [Exchange] = []

  /// What TLS is spoken with from the next connection on; nil: this listener speaks plain HTTP.
  private(set) var identity: TLSIdentity?
  /// Those of connections that have ended since the library's last turn, which lets go of their sessions only after telling.
  private var retired: [TLSIdentity] = []
  private var socket: ListeningSocket?
  private let options: UnsafeMutablePointer<mhd_options>
  private var daemon: OpaquePointer?
  private let epoll: Int32
  private var decoders: [ContentDecoder] = []
  private var answered: [Exchange] = []
  private var finishing: [Connection] = []
  private var watched = 0
  /// A connection has ended since the library's last turn.
  private var hasClosed = false
  private var nextDeadline = ConnectionTimer.never
  private var stopDeadline = ConnectionTimer.never

  var configuration: HTTPServerConfiguration { shared.configuration }
  var handler: any HTTPHandler { shared.handler }

  /// Takes the socket over.
  init(_ socket: ListeningSocket, shared: ServerShared) throws(HTTPServerError) {
    self.shared = shared
    limits = ConnectionTimer.Limits(shared.configuration)
    options = .allocate(capacity: 1)
    options.initialize(to: mhd_options())
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    self.socket = socket
    if case .tcp = socket.address { identity = shared.configuration.tls }
    options.pointee = callbacks(listenSocket: socket.descriptor)
    daemon = mhd_start(options)
    guard let daemon, epoll >= 0, mailbox.descriptor >= 0 else {
      throw HTTPServerError(
        socket.address, .other, "the HTTP library didn't start; are there enough file descriptors (ulimit -n)?")
    }
    wait(for: mhd_epoll_descriptor(daemon), EPOLLIN.rawValue)
    wait(for: mailbox.descriptor, EPOLLIN.rawValue | EPOLLET.rawValue)
  }

  deinit {
    if let daemon {
      // The socket isn't the library's to close.
      MHD_quiesce_daemon(daemon)
      MHD_stop_daemon(daemon)
    }
    if epoll >= 0 { close(epoll) }
    options.deallocate()
  }

  private func wait(for descriptor: Int32, _ events: UInt32) {
    var event = epoll_event(events: events, data: epoll_data_t(ptr: nil))
    epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
  }

  // MARK: The thread

  /// Serves until it is told to stop.
  func run() {
    while true {
      now = monotonicNow()
      takeMail()
      if now >= nextDeadline { checkDeadlines() }
      if isStopping, connections.isEmpty || now >= stopDeadline { break }
      hasClosed = false
      retired.removeAll(keepingCapacity: true)
      MHD_run(daemon)
      suspendUnanswered()
      cutFinished()
      sleep()
    }
    finish()
  }

  private func takeMail() {
    let commands = mailbox.take(answered: &answered)
    for exchange in answered {
      guard let connection = exchange.connection, connection.isSuspended else { continue }
      connection.isSuspended = false
      MHD_resume_connection(connection.handle)
    }
    answered.removeAll(keepingCapacity: true)
    for command in commands {
      switch command {
      case .stopAccepting: stopAccepting()
      case .limit(let limits): self.limits = limits
      case .identify(let identity): if self.identity != nil { self.identity = identity }
      case .stop(let deadline):
        stopAccepting()
        isStopping = true
        stopDeadline = min(stopDeadline, deadline)
        for connection in connections where connection.timer.isBetweenRequests && !connection.hasUnreadBytes {
          connection.cut()
        }
      }
    }
  }

  private func checkDeadlines() {
    nextDeadline = ConnectionTimer.never
    for connection in connections {
      if connection.timer.deadline <= now { connection.expired() }
      nextDeadline = min(nextDeadline, connection.timer.deadline)
    }
  }

  /// Puts the connections whose answers aren't there yet to sleep.
  ///
  /// Here and not in the library's call-back: it would read from a connection suspended there as soon as it is resumed,
  /// and take a client that has closed its own side after the request for one that is gone.
  private func suspendUnanswered() {
    guard !unanswered.isEmpty else { return }
    for exchange in unanswered {
      guard let connection = exchange.connection, exchange.startWaiting() else { continue }
      connection.isSuspended = true
      MHD_suspend_connection(connection.handle)
    }
    unanswered.removeAll(keepingCapacity: true)
  }

  /// Ends the connections whose clients have finished writing and wait for nothing any more. The library misses a
  /// client's end when it comes together with its last bytes.
  private func cutFinished() {
    guard !finishing.isEmpty else { return }
    finishing.removeAll { connection in
      // One that waits for its answer comes back when it has got it.
      guard connection.isOpen, !connection.timer.isAnswering else { return true }
      if connection.hasUnreadBytes { return false }
      connection.cut()
      return true
    }
  }

  /// Waits until there is something to do.
  private func sleep() {
    // The last connection may have ended in this turn: then there is nothing to wait for.
    if isStopping, connections.isEmpty { return }
    var pending: UInt64 = 0
    // (After a want of file descriptors the library accepts again once a connection has ended, and only in a turn after
    // that: without one it would never be woken by another connection.)
    let isBusy =
      (MHD_get_timeout(daemon, &pending) == MHD_Result.YES && pending == 0) || !mailbox.sleeps() || hasClosed
    // What the library has read already can't be seen any more: who is watched is looked at before its next turn.
    if isBusy, watched == 0 { return }
    let wakeUp = min(nextDeadline, isStopping ? stopDeadline : ConnectionTimer.never)
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
      let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), isBusy ? 0 : milliseconds(until: wakeUp))
      guard count > 0 else { return }
      now = monotonicNow()
      for event in events[..<Int(count)] {
        guard let pointer = event.data.ptr else { continue }
        happened(event.events, on: Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue())
      }
    }
  }

  private func milliseconds(until moment: UInt64) -> Int32 {
    guard moment != ConnectionTimer.never else { return -1 }
    let current = monotonicNow()
    return moment <= current ? 0 : Int32(clamping: (moment - current) / 1_000_000 + 1)
  }

  private func stopAccepting() {
    guard socket != nil else { return }
    MHD_quiesce_daemon(daemon)
    socket = nil
  }

  private func finish() {
    stopAccepting()
    // The library doesn't bear suspended connections when it stops.
    for connection in connections where connection.isSuspended { MHD_resume_connection(connection.handle) }
    MHD_stop_daemon(daemon)
    daemon = nil
    mailbox.close()
  }

  // MARK: For its connections

  /// Notes that something has to be done at a moment.
  func deadlineSet(_ deadline: UInt64) { nextDeadline = min(nextDeadline, deadline) }

  /// Asks to be told of the connection's next byte, since the library doesn't tell.
  func watch(_ connection: Connection) {
    guard !connection.isWatched else { return }
    connection.isWatched = true
    watched += 1
    listen(to: connection, EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, EPOLL_CTL_MOD)
  }

  private func listen(to connection: Connection, _ events: UInt32, _ operation: Int32) {
    let pointer = Unmanaged.passUnretained(connection).toOpaque()
    var event = epoll_event(events: events, data: epoll_data_t(ptr: pointer))
    epoll_ctl(epoll, operation, connection.descriptor, &event)
  }

  private func happened(_ events: UInt32, on connection: Connection) {
    if connection.isWatched {
      connection.isWatched = false
      watched -= 1
      listen(to: connection, EPOLLRDHUP.rawValue | EPOLLET.rawValue, EPOLL_CTL_MOD)
      if connection.timer.phase == .watched {
        connection.timer.headBegan(now: now)
        deadlineSet(connection.timer.deadline)
      }
    }
    if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
      connection.hasFinished = true
      finishing.append(connection)
    }
  }

  /// Looks at a connection whose client has finished writing, after the library's turn.
  func finishes(_ connection: Connection) { finishing.append(connection) }

  func opened(_ connection: Connection) {
    connection.index = connections.count
    connections.append(connection)
    listen(to: connection, EPOLLRDHUP.rawValue | EPOLLET.rawValue, EPOLL_CTL_ADD)
    deadlineSet(connection.timer.deadline)
    if !shared.connectionOpened() { connection.cut() }
  }

  func closed(_ connection: Connection) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, connection.descriptor, nil)
    connection.isOpen = false
    hasClosed = true
    if identity != nil { ended(connection.session) }
    if connection.isWatched { watched -= 1 }
    let last = connections.removeLast()
    if last !== connection {
      connections[connection.index] = last
      last.index = connection.index
    }
    shared.connectionClosed()
  }

  private func ended(_ session: TLSSession?) {
    if session?.isSecured != true { shared.handshakeFailed() }
    if let session, session.identity !== identity { retired.append(session.identity) }
  }

  func takeDecoder() -> ContentDecoder { decoders.popLast() ?? ContentDecoder() }

  func giveDecoder(_ decoder: ContentDecoder) {
    if decoders.count < 4 { decoders.append(decoder) }
  }
}

/// Nanoseconds of the monotonic clock.
func monotonicNow() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
