import Observability

extension AppRegistry {
  /// Forgets the apps that keys have made and for which nothing waits and no request came for ``idleMax``. To be called once in a while.
  ///
  /// - Parameter hasPending: whether an event of this app waits anywhere.
  public func forgetIdle(hasPending: (String) -> Bool) {
    let now = clock.now
    let candidates = state.withLock { state in
      state.ownByName.values.filter { $0.isIdle(at: now, for: Self.idleMax) }
    }
    let idle = candidates.filter { !hasPending($0.app.name) }
    guard !idle.isEmpty else { return }
    writing.withLock { _ in forget(idle) }
  }

  /// ``writing`` is held.
  private func forget(_ idle: [OwnApp]) {
    // First out of the table, so that no request is let in with a key that the file is about to lose: it waits for the file, and makes the app
    // again. One that came meanwhile keeps its app.
    let now = clock.now
    let (forgotten, lines) = state.withLock { state in
      let forgotten = idle.filter { $0.isIdle(at: now, for: Self.idleMax) && state.ownByName[$0.app.name] === $0 }
      for app in forgotten { state.remove(app) }
      return (forgotten, Self.lines(of: state))
    }
    do {
      try storage.store(lines)
    } catch {
      state.withLock { state in for app in forgotten { state.add(app) } }
      logger.warning(
        "idle senders' keys can't be forgotten now", ["file": .text(error.path), "why": .text(error.description)])
      return
    }
    for app in forgotten { logger.info("a sender's idle key is forgotten", about: app.app.name) }
  }
}
