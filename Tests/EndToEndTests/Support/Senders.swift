import Foundation
import Synchronization
import TestSupport

/// Senders that post batches from one supply, and post a batch again until it is accepted: what an app's SDK does.
final class Senders: Sendable {
  private struct Supply {
    var batches: [[TestEvent]] = []
    var next = 0
    var eventsTaken = 0
  }

  private struct Relay: Sendable {
    var address: TestAddress?
    var generation = 0
  }

  /// The bytes of every event there is, by id.
  let bytes: [String: [UInt8]]
  /// Ids of the events that a relay answered 200 for.
  private let accepted = Fact<Set<String>>([])
  private let attempts = Mutex<[String: Int]>([:])
  private let supply: Mutex<Supply>
  private let released = Fact(0)
  private let relay = Fact(Relay())

  /// - Parameter properties: of each event; nil: some of every kind.
  init(eventCount: Int, properties: String? = nil) {
    let events = (0..<eventCount).map { TestEvent($0, properties: properties) }
    bytes = Dictionary(uniqueKeysWithValues: events.map { ($0.id, $0.bytes) })
    var batches: [[TestEvent]] = []
    var at = 0
    for size in Array(repeating: [100, 37, 1, 64, 100, 3, 12, 83], count: eventCount).joined() where at < eventCount {
      batches.append(Array(events[at..<min(at + size, eventCount)]))
      at += size
    }
    supply = Mutex(Supply(batches: batches))
  }

  var acceptedIDs: Set<String> { accepted.value }

  /// How often an event was sent, answered or not.
  func timesSent(_ id: String) -> Int { attempts.withLock { $0[id] ?? 0 } }

  /// Tells where the relay is now.
  func relay(at address: TestAddress) {
    relay.change {
      $0.address = address
      $0.generation += 1
    }
  }

  /// Lets batches out until so many events are on their way, and waits until so many were accepted.
  func release(_ count: Int, untilAccepted enough: Int) async throws {
    released.change { $0 = max($0, count) }
    guard await accepted.wait(until: { $0.count >= enough }) != nil else {
      throw TestFailure("only \(accepted.value.count) of \(enough) events were accepted")
    }
  }

  /// One sender: posts batches until the supply is empty.
  func send() async throws {
    var connection: TestConnection?
    var generation = 0
    while let batch = await nextBatch() {
      while true {
        guard let relay = await relay.wait(until: { $0.address != nil }), let address = relay.address else {
          throw TestFailure("there is no relay")
        }
        if relay.generation != generation { connection = nil }
        generation = relay.generation
        attempts.withLock { for event in batch { $0[event.id, default: 0] += 1 } }
        do {
          let open = try connection ?? TestConnection(to: address)
          connection = open
          let answer = try await onThread {
            try open.send(
              "POST", "/v1/events",
              headers: [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")],
              body: TestEvent.batch(batch))
          }
          guard answer.status != 200 else { break }
        } catch {}
        // It is going, or gone: the next one has to come.
        connection = nil
        let gone = generation
        guard await self.relay.wait(until: { $0.generation > gone }) != nil else {
          throw TestFailure("the relay doesn't take a batch, and no other relay comes")
        }
      }
      accepted.change { $0.formUnion(batch.map(\.id)) }
    }
  }

  private func nextBatch() async -> [TestEvent]? {
    let taken = supply.withLock { supply -> (batch: [TestEvent], before: Int)? in
      guard supply.next < supply.batches.count else { return nil }
      let batch = supply.batches[supply.next]
      defer {
        supply.next += 1
        supply.eventsTaken += batch.count
      }
      return (batch, supply.eventsTaken)
    }
    guard let taken else { return nil }
    guard await released.wait(within: .seconds(600), until: { $0 > taken.before }) != nil else { return nil }
    return taken.batch
  }
}
