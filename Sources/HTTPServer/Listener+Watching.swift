import CMicrohttpd

/// What the library doesn't tell of its connections.
extension Listener {
  /// Asks to be told of the connection's next byte, since the library doesn't tell.
  func watch(_ connection: Connection) {
    guard !connection.isWatched else { return }
    connection.isWatched = true
    watched += 1
    listen(to: connection, EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLONESHOT.rawValue, EPOLL_CTL_MOD)
  }

  func listen(to connection: Connection, _ events: UInt32, _ operation: Int32) {
    let pointer = Unmanaged.passUnretained(connection).toOpaque()
    var event = epoll_event(events: events, data: epoll_data_t(ptr: pointer))
    epoll_ctl(epoll, operation, connection.descriptor, &event)
  }

  func happened(_ events: UInt32, on connection: Connection) {
    if connection.isWatched {
      connection.isWatched = false
      watched -= 1
      listen(to: connection, EPOLLRDHUP.rawValue | EPOLLET.rawValue, EPOLL_CTL_MOD)
      if connection.timer.phase == .watched {
        connection.timer.headBegan(now: now)
        deadlineSet(connection.timer.deadline)
        hurry(connection)
      }
    }
    if events & (EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 {
      connection.hasFinished = true
      finishing.append(connection)
    }
  }
}
