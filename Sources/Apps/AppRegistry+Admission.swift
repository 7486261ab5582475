import Observability

extension AppRegistry {
  /// The app that a request with this key belongs to.
  ///
  /// Takes well under a microsecond for a known key. A new one, with keys `any`, waits for the disk; so this must not be called where blocking
  /// isn't allowed. Only keys of protocol 0 make apps: of another, nobody would have said where its events go.
  ///
  /// - Parameters:
  ///   - key: as it was sent; nil or empty: the request has none.
  ///   - dialect: the number of the protocol that the request came by.
  public func app(forKey key: String?, dialect: UInt8 = 0) -> AppAdmission {
    guard var key else { return app(forKeyBytes: UnsafeRawBufferPointer(start: nil, count: 0), dialect: dialect) }
    return key.withUTF8 { app(forKeyBytes: UnsafeRawBufferPointer($0), dialect: dialect) }
  }

  /// The app that a request with this key belongs to; as ``app(forKey:dialect:)``, for a key that is still where it was received.
  public func app(forKeyBytes key: UnsafeRawBufferPointer, dialect: UInt8 = 0) -> AppAdmission {
    if key.isEmpty {
      return state.withLock { $0.directory.defaultApps[dialect] }.map(AppAdmission.app) ?? .missingKey
    }
    if let admission = known(key, dialect) { return admission }
    let key = String(decoding: key, as: UTF8.self)
    return writing.withLock { _ in make(key) }
  }

  /// Whether any app's senders speak the protocol with this number; the first one is also spoken where every key is let in.
  public func speaks(_ dialect: UInt8) -> Bool { state.withLock { $0.directory.speaks(dialect) } }

  /// Whether any app whose senders speak this protocol lets pages of an origin post.
  public func allows(origin: String, dialect: UInt8) -> Bool {
    state.withLock { $0.directory.rules[dialect] ?? [] }.contains { $0.allows(origin: origin) }
  }

  /// What can be said without making anything; nil for a key that is to make an app.
  private func known(_ key: UnsafeRawBufferPointer, _ dialect: UInt8) -> AppAdmission? {
    state.withLock { state in
      if let app = state.directory.app(listing: key) {
        return app.dialect == dialect ? .app(app) : .otherProtocol(app.dialect)
      }
      guard dialect == 0, state.directory.mode == .any, KeyRules.isKey(key) else { return .unknownKey }
      if let own = state.own[key] {
        own.touch(clock.now)
        return .app(own.app)
      }
      return state.own.count >= Self.ownAppsMax ? .tooManyKeys : nil
    }
  }

  /// Makes the app of a new key. Only one at a time: ``writing`` is held.
  private func make(_ key: String) -> AppAdmission {
    // Another request may have been quicker.
    var bytes = key
    if let admission = bytes.withUTF8({ known(UnsafeRawBufferPointer($0), 0) }) { return admission }
    let (name, lines) = state.withLock { state in
      let name = OwnApp.name(for: key) { state.directory.has($0) || state.ownByName[$0] != nil }
      return (name, Self.lines(of: state))
    }
    // All 64 digits are taken only by a configured app of that name.
    guard let name else { return .unknownKey }
    do {
      try storage.store(lines + [KeyFile.Line(app: name, key: key)])
    } catch {
      logger.error(
        "a sender's new key can't be stored; its requests are answered with 503",
        ["file": .text(error.path), "why": .text(error.description), "key": .text(Self.fingerprint(of: key))])
      return .keyNotStored
    }
    let own = OwnApp(name: name, key: key, now: clock.now)
    state.withLock { $0.add(own) }
    logger.info("a sender's key has made an app", about: name, ["key": .text(Self.fingerprint(of: key))])
    return .app(own.app)
  }

  static func lines(of state: State) -> [KeyFile.Line] {
    state.ownByName.values.map { KeyFile.Line(app: $0.app.name, key: $0.key) }.sorted { $0.app < $1.app }
  }
}
