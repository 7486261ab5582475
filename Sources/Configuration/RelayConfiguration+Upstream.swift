extension RelayConfiguration.Upstream {
  /// Takes what a section says: the common `upstream`, or an app's own.
  ///
  /// - Parameter isCommon: false for an app's, where keys that are about all apps together have no place.
  mutating func read(_ section: Section, _ format: ProtocolFormat, isCommon: Bool) {
    section.read("url", into: &url, .upstreamURL(of: format))
    if section.has("url"), url.hasPrefix("http://"), !URLText.isLocal(url) {
      section.warn("url", "is http: events and keys go to another machine unencrypted; use https")
    }
    if section.has("url"), let call = format.otherCalls.first(where: { $0 != "/" && url.hasSuffix($0) }) {
      section.warn(
        "url",
        "ends in \(call), a call of another protocol's; \(format.title) is spoken here, and the relay adds "
          + "\(format.calls.joined(separator: " and ")) behind it: is it the right upstream?")
    }
    section.read("linger", into: &linger, .duration(.zero ... .hours(1)))
    section.read("max_batch_events", into: &maxBatchEvents, .integer(1...format.upstream.maxBatchEvents))
    // At least the largest event of the first protocol.
    let bytesMax = format.upstream.maxBatchBytes
    section.read("max_batch_bytes", into: &maxBatchBytes, .size(min(16 << 10, bytesMax)...bytesMax))
    section.read("timeout", into: &timeout, .duration(.milliseconds(100) ... .hours(1)))
    section.read("connect_timeout", into: &connectTimeout, .duration(.milliseconds(100) ... .minutes(10)))
    section.readCertificates("ca_file", into: &caFile)
    retry.read(section.section("retry"))
    rateLimit.read(section.section("rate_limit"), format)
    section.read("concurrency", into: &concurrency, .integer(1...format.upstream.concurrency))
    section.read("on_refused_key", into: &onRefusedKey, .word)
    if format.replacesTimes {
      section.read("on_expired", into: &onExpired, .word)
    } else {
      section.refuse("on_expired", "\(format.title) takes events of any age as they are; remove it")
    }
    if isCommon {
      section.read("order", into: &order, .word)
    } else {
      section.refuse(
        "order", "says which app sends first, and so is for all of them: set it in the common upstream section")
    }
    section.finish()
  }
}

extension RelayConfiguration.Retry {
  static let attemptsMax = 1_000_000

  mutating func read(_ section: Section) {
    section.read("initial", into: &initial, .duration(.milliseconds(1) ... .hours(1)))
    section.read("max", into: &max, .duration(.milliseconds(1) ... .hours(24)))
    section.read("jitter", into: &jitter, .percent())
    if section.isSound, initial > max {
      section.fault(
        section.has("initial") ? "initial" : "max",
        "initial, \(DurationText.exact(initial)), is longer than max, \(DurationText.exact(max)); make one fit the other"
      )
    }
    section.read("max_attempts", into: &maxAttempts, .integer(0...Self.attemptsMax))
    section.finish()
  }
}

extension RelayConfiguration.RateLimit {
  mutating func read(_ section: Section, _ format: ProtocolFormat) {
    let (counted, other, word, otherWord) =
      format.limitUnit == .events
      ? ("events_per_minute", "requests_per_minute", "events", "requests")
      : ("requests_per_minute", "events_per_minute", "requests", "events")
    section.read(counted, into: &eventsPerMinute, .integer(0...100_000_000))
    section.refuse(other, "\(format.title) counts \(word), not \(otherWord); set \(counted)")
    if format.limitsInstalls {
      section.read("per_install_per_minute", into: &perInstallPerMinute, .integer(0...100_000_000))
    } else {
      section.refuse("per_install_per_minute", "\(format.title) has no limit of single installs; remove it")
    }
    section.read("margin", into: &margin, .percent(0...90))
    section.finish()
  }
}
