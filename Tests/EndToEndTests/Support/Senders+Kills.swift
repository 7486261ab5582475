import TestSupport

extension Senders {
  /// Four send all there is to one relay after the other: each is ended somewhere in the middle of things, of requests,
  /// syncs, commits, new files, dead letters, and the next one goes on in its directory.
  ///
  /// - Parameters:
  ///   - end: ends the relay; with the number of those that were ended before.
  /// - Returns: the last relay, which runs.
  static func send(
    through kills: Int, eventsPerKill: Int, in directory: TemporaryDirectory, _ settings: RelaySettings,
    ending end: (RelayProcess, Int) async throws -> Void
  ) async throws -> (senders: Senders, relay: RelayProcess) {
    let senders = Senders(eventCount: kills * eventsPerKill)
    var relay = try await RelayProcess(directory, settings)
    senders.relay(at: relay.ingest[0])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await senders.send() } }
      for kill in 0..<kills {
        let last = (kill + 1) * eventsPerKill
        try await senders.release(last, untilAccepted: kill * eventsPerKill + Int.random(in: 1..<eventsPerKill - 400))
        try await end(relay, kill)
        relay = try await RelayProcess(directory, settings)
        senders.relay(at: relay.ingest[0])
        try await senders.release(last, untilAccepted: last)
      }
      try await group.waitForAll()
    }
    return (senders, relay)
  }
}
