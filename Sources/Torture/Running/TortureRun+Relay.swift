import Glibc

extension TortureRun {
  /// How long an end by SIGTERM may take: the grace of the configuration, and what a busy machine adds.
  private static let stopLimit: Duration = .seconds(60)

  func startRelay() throws(TortureError) {
    let started = try RelayChild(setup, clockOffset: clockOffset)
    child = started
    senders.send(toPort: started.ingestPort)
  }

  /// Notes an end that nobody caused, and starts again.
  func checkRelay() {
    guard let child, let code = child.hasEnded else { return }
    incidents.append("the relay ended by itself with \(code): \(setup.relayLog)")
    senders.send(toPort: nil)
    self.child = nil
    do throws(TortureError) {
      try startRelay()
    } catch {
      incidents.append(error.description)
    }
  }

  /// Ends the relay: by SIGKILL, or by SIGTERM, after which it must end with 0.
  func stopRelay(kills: Bool) throws(TortureError) {
    checkRelay()
    guard let child else { throw TortureError("no relay runs: \(setup.relayLog) says why") }
    senders.send(toPort: nil)
    child.signal(kills ? SIGKILL : SIGTERM)
    guard let code = child.waitForEnd(within: Self.stopLimit) else {
      throw TortureError(
        "waited \(Self.stopLimit / .seconds(1)) s for the relay to end: \(setup.relayLog) says where it is")
    }
    let wanted = kills ? 128 + SIGKILL : 0
    if code != wanted { incidents.append("the relay ended with \(code) where \(wanted) was wanted: \(setup.relayLog)") }
    self.child = nil
    damager.copyPositions()
  }

  /// Waits until nothing waits anywhere, as long as it gets less.
  func settle() throws(TortureError) {
    /// How long nothing may move: longer than any delay of the configuration or of a script.
    let patience: Duration = .seconds(90)
    var least = Int.max
    var moved = ContinuousClock.now
    while true {
      checkRelay()
      var waiting: [String: Int] = [:]
      for destination in child?.status()?["destinations"]?.array ?? [] {
        guard let name = destination["name"]?.string else { continue }
        waiting[name] = destination["pending"]?.integer(as: Int.self) ?? 0
      }
      let sum = waiting.values.reduce(0, +)
      if waiting.count >= TortureSetup.destinations.count, sum == 0 { return }
      if !waiting.isEmpty, sum < least { (least, moved) = (sum, .now) }
      if ContinuousClock.now - moved > patience {
        incidents.append(
          "waited \(patience / .seconds(1)) s for what waits to be sent, and nothing moved: "
            + waiting.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
            .joined(separator: ", ") + "; \(setup.relayLog) says why")
        return
      }
      Pause.sleep(.milliseconds(100))
    }
  }
}
