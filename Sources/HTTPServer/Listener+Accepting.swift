import CMicrohttpd
import Glibc

/// Taking connections. It isn't left to the library, which can't refuse one with an answer, makes nobody go for it, and asks
/// for ever without a pause when there is no file descriptor and it has no connection.
extension Listener {
  /// How many are taken before those that are there have their turn.
  private static let batch = 64
  /// Nanoseconds until the next try, after a want of file descriptors or memory.
  private static let pause: UInt64 = 100_000_000

  /// Takes the connections that wait.
  func acceptWaiting() {
    guard let socket, now >= acceptsAt else { return }
    if isAcceptPaused { resumeAccepting() }
    var turnedAway = 0
    defer { if turnedAway > 0 { shared.makeWayElsewhere(than: mailbox, places: turnedAway) } }
    for _ in 0..<Self.batch {
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          mhd_accept(socket.descriptor, $0, &length)
        }
      }
      guard descriptor >= 0 else {
        switch errno {
        // The client is gone already, or its network told of an error: the next one may be well.
        case ECONNABORTED, EINTR, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, ENETUNREACH: continue
        case EAGAIN: hasWaiting = false
        default: pauseAccepting()
        }
        return
      }
      guard take(descriptor, &address, length, &turnedAway) else { return }
    }
  }

  /// Takes one connection, or refuses it.
  ///
  /// - Parameter turnedAway: how many were refused in this turn since nobody here makes way. (Nobody does then for those
  ///   who come next: a crowd isn't to cost a look at every connection each.)
  /// - Returns: false when the others have to have their turn first.
  private func take(
    _ descriptor: Int32, _ address: inout sockaddr_storage, _ length: socklen_t, _ turnedAway: inout Int
  ) -> Bool {
    let peer = PeerNetwork(address)
    switch shared.admit(peer) {
    case .taken:
      hand(descriptor, peer, &address, length)
      return true
    case .tooManyOfAddress:
      refuse(descriptor, .address)
      return true
    case .full:
      guard turnedAway == 0, let one = leastMissed else {
        turnedAway += 1
        refuse(descriptor, .full)
        return true
      }
      displace(one)
      shared.connectionDisplaces(peer)
      // Its descriptor is free after the library's turn: until then there is one more, and no second.
      hand(descriptor, peer, &address, length)
      return false
    }
  }

  private func displace(_ connection: Connection) {
    shared.refusals.note(.displaced, connections: shared.connections, now: now)
    connection.cut()
  }

  /// Has so many connections make way for who was refused at another listener and comes again.
  func makeWay(places: Int) {
    for _ in 0..<places {
      guard shared.isFull, let one = leastMissed else { return }
      displace(one)
    }
  }

  /// The connection that is to make way; nil when none is.
  private var leastMissed: Connection? {
    while true {
      var found: (connection: Connection, rank: ConnectionTimer.Displacement)?
      for connection in connections where !connection.isCut {
        guard let rank = connection.timer.displacement(now: now) else { continue }
        if let best = found, best.rank < rank { continue }
        found = (connection, rank)
      }
      guard let one = found?.connection else { return nil }
      guard one.timer.isBetweenRequests, one.hasUnreadBytes else { return one }
      // It isn't idle: its next request is coming.
      one.timer.headBegan(now: now)
      deadlineSet(one.timer.deadline)
    }
  }

  /// Hands a connection that is counted to the library.
  private func hand(_ descriptor: Int32, _ peer: PeerNetwork?, _ address: inout sockaddr_storage, _ length: socklen_t) {
    arriving = .some(peer)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        MHD_add_connection(daemon, descriptor, $0, length)
      }
    }
    // (The library closes what it doesn't take.)
    if arriving != nil { shared.connectionClosed(peer) }
    arriving = nil
  }

  /// Says that it is to come again, as far as it hears, and closes.
  private func refuse(_ descriptor: Int32, _ reason: ConnectionRefusals.Reason) {
    shared.refusals.note(reason, connections: shared.connections, now: now)
    if isPlain {
      let bytes = configuration.crowded.serialized(withBody: true)
      _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
      shutdown(descriptor, Int32(SHUT_WR))
      // What is there and unread would make the kernel take the answer back.
      withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { waste in
        for _ in 0..<8 where recv(descriptor, waste.baseAddress, waste.count, Int32(MSG_DONTWAIT)) < waste.count {
          break
        }
      }
    }
    close(descriptor)
  }

  // MARK: Pausing

  private func pauseAccepting() {
    shared.refusals.note(.descriptors, connections: shared.connections, now: now)
    acceptsAt = now + Self.pause
    hasWaiting = false
    guard !isAcceptPaused else { return }
    isAcceptPaused = true
    listenToSocket(0, EPOLL_CTL_MOD)
  }

  private func resumeAccepting() {
    isAcceptPaused = false
    acceptsAt = 0
    listenToSocket(EPOLLIN.rawValue, EPOLL_CTL_MOD)
  }

  /// A descriptor may be free: it isn't waited for longer.
  func hurryAccepting() {
    if isAcceptPaused { acceptsAt = 0 }
  }

  /// Asks to be woken by new connections.
  func listenToSocket(_ events: UInt32, _ operation: Int32) {
    guard let socket else { return }
    var event = epoll_event(events: events, data: epoll_data_t(ptr: Unmanaged.passUnretained(self).toOpaque()))
    epoll_ctl(epoll, operation, socket.descriptor, &event)
  }
}
