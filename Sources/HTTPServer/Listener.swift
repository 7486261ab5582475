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
  /// Until when a request's head may come, once the server stops.
  private(set) var headsUntil = ConnectionTimer.never

  /// Nil when it takes no new connections any more.
  private(set) var socket: ListeningSocket?
  /// New connections may wait.
  var hasWaiting = false
  /// There was no descriptor for a new connection: none is asked for until then.
  var acceptsAt: UInt64 = 0
  var isAcceptPaused = false
  /// Whom the connection comes from that is being handed to the library.
  var arriving: PeerNetwork??

  /// What TLS is spoken with from the next connection on; nil: this listener speaks plain HTTP.
  private(set) var identity: TLSIdentity?
  /// Those of connections that have ended since the library's last turn, which lets go of their sessions only after telling.
  private var retired: [TLSIdentity] = []
  private let options: UnsafeMutablePointer<mhd_options>
  private(set) var daemon: OpaquePointer?
  let epoll: Int32
  private var decoders: [ContentDecoder] = []
  private var answered: [Exchange] = []
  var finishing: [Connection] = []
  /// Connections of whose next byte it is to be told.
  var watched = 0
  /// Turns since it was last looked whether anything happened on a socket.
  private var blindTurns = 0
  /// A connection has ended since the library's last turn.
  private var hasClosed = false
  private var nextDeadline = ConnectionTimer.never
  private var stopDeadline = ConnectionTimer.never

  var configuration: HTTPServerConfiguration { shared.configuration }
  var handler: any HTTPHandler { shared.handler }
  /// A new connection can be told something in plain text.
  var isPlain: Bool { identity == nil }

  /// Takes the socket over.
  init(_ socket: ListeningSocket, shared: ServerShared) throws(HTTPServerError) {
    self.shared = shared
    limits = ConnectionTimer.Limits(shared.configuration)
    options = .allocate(capacity: 1)
    options.initialize(to: mhd_options())
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    self.socket = socket
    if case .tcp = socket.address { identity = shared.configuration.tls }
    options.pointee = callbacks()
    daemon = mhd_start(options)
    guard let daemon, epoll >= 0, mailbox.descriptor >= 0 else {
      throw HTTPServerError(
        socket.address, .other, "the HTTP library didn't start; are there enough file descriptors (ulimit -n)?")
    }
    wait(for: mhd_epoll_descriptor(daemon), EPOLLIN.rawValue)
    wait(for: mailbox.descriptor, EPOLLIN.rawValue | EPOLLET.rawValue)
    listenToSocket(EPOLLIN.rawValue, EPOLL_CTL_ADD)
  }

  deinit {
    if let daemon { MHD_stop_daemon(daemon) }
    if epoll >= 0 { close(epoll) }
    options.deallocate()
  }

  private func wait(for descriptor: Int32, _ events: UInt32) {
    var event = epoll_event(events: events, data: epoll_data_t(ptr: nil))
    epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
  }

  /// Turns that the library may have without a look at the sockets, when it has more to do.
  private static let blindTurnsMax = 8

  // MARK: The thread

  /// Serves until it is told to stop.
  func run() {
    while true {
      now = monotonicNow()
      takeMail()
      if now >= nextDeadline { checkDeadlines() }
      if isStopping, connections.isEmpty || now >= stopDeadline { break }
      hasClosed = false
      if hasWaiting || (isAcceptPaused && now >= acceptsAt) { acceptWaiting() }
      retired.removeAll(keepingCapacity: true)
      MHD_run(daemon)
      suspendUnanswered()
      cutFinished()
      if hasClosed { hurryAccepting() }
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
      case .makeWay(let places): makeWay(places: places)
      case .identify(let identity): if self.identity != nil { self.identity = identity }
      case .stop(let deadline):
        stopAccepting()
        isStopping = true
        stopDeadline = min(stopDeadline, deadline)
        headsUntil = min(headsUntil, now + Self.headsGrace)
        for connection in connections {
          if connection.timer.isBetweenRequests, !connection.hasUnreadBytes {
            connection.cut()
          } else {
            hurry(connection)
          }
        }
      }
    }
  }

  /// Nanoseconds that a request's head has to be complete when the server stops: enough for one that is on its way.
  private static let headsGrace: UInt64 = 500_000_000

  /// While the server stops, a head that dribbles isn't waited for.
  func hurry(_ connection: Connection) {
    guard isStopping else { return }
    connection.timer.hurry(until: headsUntil)
    deadlineSet(connection.timer.deadline)
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
    let isBusy =
      (MHD_get_timeout(daemon, &pending) == MHD_Result.YES && pending == 0) || !mailbox.sleeps() || hasWaiting
      || (isAcceptPaused && acceptsAt == 0)
    // What the library has read already can't be seen any more: who is watched is looked at before its next turn.
    // (And new connections, at latest every few turns.)
    if isBusy, watched == 0, blindTurns < Self.blindTurnsMax {
      blindTurns += 1
      return
    }
    blindTurns = 0
    let never = ConnectionTimer.never
    let wakeUp = min(nextDeadline, isStopping ? stopDeadline : never, isAcceptPaused ? acceptsAt : never)
    withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
      let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), isBusy ? 0 : milliseconds(until: wakeUp))
      guard count > 0 else { return }
      now = monotonicNow()
      let mine = Unmanaged.passUnretained(self).toOpaque()
      for event in events[..<Int(count)] {
        guard let pointer = event.data.ptr else { continue }
        if pointer == mine {
          hasWaiting = true
          continue
        }
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
    guard let socket else { return }
    epoll_ctl(epoll, EPOLL_CTL_DEL, socket.descriptor, nil)
    self.socket = nil
    hasWaiting = false
    isAcceptPaused = false
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

  /// Looks at a connection whose client has finished writing, after the library's turn.
  func finishes(_ connection: Connection) { finishing.append(connection) }

  func opened(_ connection: Connection) {
    connection.index = connections.count
    connections.append(connection)
    connection.peer = arriving ?? nil
    arriving = nil
    listen(to: connection, EPOLLRDHUP.rawValue | EPOLLET.rawValue, EPOLL_CTL_ADD)
    deadlineSet(connection.timer.deadline)
    // (Without a certificate its handshake can only fail, and at its own pace.)
    if identity != nil, connection.session == nil { connection.cut() }
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
    shared.connectionClosed(connection.peer)
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
