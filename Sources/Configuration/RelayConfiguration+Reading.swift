extension RelayConfiguration {
  /// Takes what the file says; everything else keeps its default.
  ///
  /// - Parameter protocols: at least one; the common `upstream` is the first one's.
  mutating func read(_ root: Section, sinkTypes: [any SinkFormat], protocols: [ProtocolFormat]) {
    guard root.isGroup else { return }
    root.read("data_dir", into: &dataDirectory, .path(relativeTo: root.findings.directory))
    ingest.read(root.section("ingest"))
    admin.read(root.section("admin"), ingest: ingest)
    log.read(root.section("log"))
    upstream = protocols[0].upstream
    upstream.read(root.section("upstream"), protocols[0], isCommon: true)
    if root.findings.isForAsking {
      root.skip("apps")
    } else {
      apps = Self.readApps(root, protocols, common: upstream)
    }
    sinks = Self.readSinks(root, sinkTypes, dataDirectory: dataDirectory)
    deadLetters.read(root.section("dead_letters"))
    shutdownGrace = Self.readGrace(root.section("shutdown"), default: shutdownGrace)
    logging.read(root.section("logging"))
    positions.read(root.section("positions"))
    root.later("privacy")
    root.finish()
  }

  private static func readGrace(_ section: Section, default grace: Duration) -> Duration {
    defer { section.finish() }
    return section.value("grace", .duration(.zero ... .minutes(10))) ?? grace
  }
}

extension RelayConfiguration.Ingest {
  static let listenersMax = 16

  mutating func read(_ section: Section) {
    let address = ScalarFormat.address(relativeTo: section.findings.directory)
    if let listeners = section.list("listen", max: Self.listenersMax, address) {
      if listeners.isEmpty, section.isEmptyList("listen") {
        section.fault("listen", "is empty; name at least one address")
      }
      for (index, listener) in listeners.enumerated() {
        guard let first = listeners[..<index].first(where: { $0.value.collides(with: listener.value) }) else {
          continue
        }
        section.findings.fault(
          line: listener.line, key: section.child("listen"),
          "\(listener.value) is taken by \(first.value) on line \(first.line); each listener needs an address of its own"
        )
      }
      listen = listeners.map(\.value)
    }
    section.read("keys", into: &keys, .word)
    section.read("max_connections", into: &maxConnections, .integer(1...100_000))
    section.readOptional("max_connections_per_address", into: &maxConnectionsPerAddress, .integer(0...100_000))
    section.read("max_body_memory", into: &maxBodyMemory, .size(4 << 20...1 << 40))
    let time = ScalarFormat.duration(.milliseconds(100) ... .hours(1))
    section.read("header_timeout", into: &headerTimeout, time)
    section.read("body_timeout", into: &bodyTimeout, time)
    section.read("idle_timeout", into: &idleTimeout, time)
    section.read("max_events_per_minute", into: &maxEventsPerMinute, .integer(0...100_000_000))
    // Else there are requests that never fit, and what should their senders be told?
    if (1..<Self.requestEventsMax).contains(maxEventsPerMinute) {
      section.fault(
        "max_events_per_minute",
        "\(maxEventsPerMinute) is less than the \(Self.requestEventsMax) events one request may hold; make it "
          + "\(Self.requestEventsMax) or more, or 0 for no limit")
    }
    dedupe.read(section.section("dedupe"))
    tls = RelayConfiguration.TLS.read(section.section("tls"), listen)
    section.finish()
  }

  /// Events of one request, by the API.
  private static let requestEventsMax = 100
}

extension RelayConfiguration.Dedupe {
  mutating func read(_ section: Section) {
    section.read("window", into: &window, .duration(.zero ... .days(7)))
    section.read("max_ids", into: &maxIDs, .integer(1000...50_000_000))
    section.finish()
  }
}

extension RelayConfiguration.Admin {
  mutating func read(_ section: Section, ingest: RelayConfiguration.Ingest) {
    section.read("listen", into: &listen, .address(relativeTo: section.findings.directory))
    section.readOptional("token", into: &token, .secret("a token"))
    if let token, token.revealed.utf8.count < 16 {
      section.warn("token", "is shorter than 16 characters, which can be guessed")
    }
    let secured = section.section("tls")
    tls = RelayConfiguration.TLS.read(secured, [listen])
    if !listen.isLocal { judgeReach(section, secured) }
    if let other = ingest.listen.first(where: { $0.collides(with: listen) }) {
      section.fault(
        "listen", "\(listen) is taken by \(other) of ingest.listen; each listener needs an address of its own")
    }
    if let hosts = section.list("hosts", max: 64, .hostHeader) { self.hosts = hosts.map(\.value) }
    section.finish()
  }
}

extension RelayConfiguration.Admin {
  /// Other machines reach it: who may ask, and who hears it?
  private func judgeReach(_ section: Section, _ secured: Section) {
    // Whoever has a certificate of the client authorities is known, and needs no token.
    if token == nil, !section.hasValue("token"), !secured.hasValue("client_ca") {
      section.fault(
        "listen",
        "\(listen) is reached from other machines, and there is neither admin.token nor admin.tls.client_ca; set one, "
          + "or listen on 127.0.0.1")
    } else if !secured.hasValue("certificate") {
      section.warn(
        "listen",
        "\(listen) is reached from other machines without TLS: whoever is on the way reads the token; set admin.tls")
    }
  }
}

extension RelayConfiguration.Log {
  mutating func read(_ section: Section) {
    section.read("durability", into: &durability, .word)
    // A segment holds at least one request with its index.
    section.read("segment_size", into: &segmentSize, .size(2 << 20...1 << 30))
    section.read("max_size", into: &maxSize, .size(6 << 20...1 << 50))
    section.read("on_full", into: &onFull, .word)
    section.read("min_free_disk", into: &minFreeDisk, .size(0...1 << 50))
    if section.isSound, maxSize < 3 * segmentSize {
      section.fault(
        section.has("max_size") ? "max_size" : "segment_size",
        "max_size, \(SizeText.exact(maxSize)), holds fewer than three segments of \(SizeText.exact(segmentSize)); "
          + "make it \(SizeText.exact(3 * segmentSize)) or more, or segment_size smaller")
    }
    section.read("retain", into: &retain, .duration(.zero ... .days(36_500)))
    section.finish()
  }
}

extension RelayConfiguration.DeadLetters {
  mutating func read(_ section: Section) {
    section.read("max_size", into: &maxSize, .size(1 << 20...1 << 50))
    section.read("retention", into: &retention, .duration(.minutes(1) ... .days(36_500)))
    section.finish()
  }
}

extension RelayConfiguration.Positions {
  mutating func read(_ section: Section) {
    section.read("keep", into: &keep, .duration(.zero ... .days(36_500)))
    section.finish()
  }
}

extension RelayConfiguration.Logging {
  mutating func read(_ section: Section) {
    section.read("level", into: &level, .word)
    section.read("format", into: &format, .word)
    section.finish()
  }
}

extension Duration {
  static func minutes(_ count: Int) -> Duration { .seconds(count * 60) }
  static func hours(_ count: Int) -> Duration { .seconds(count * 3600) }
  static func days(_ count: Int) -> Duration { .seconds(count * 86_400) }
}
