import Foundation
import PowerLoss
import Synchronization
import TestSupport

/// Senders of a round: each posts batches until they are answered, and notes when they were.
final class PowerLossSenders: Sendable {
  private struct Relay: Sendable {
    var address: TestAddress?
    var generation = 0
  }

  private let load: PowerLossLoad
  private let journal: String
  private let noted: Mutex<PowerLossFacts>
  private let next = Mutex(0)
  private let relay = Fact(Relay())

  init(_ load: PowerLossLoad, _ facts: PowerLossFacts, journal: String) {
    self.load = load
    self.journal = journal
    noted = Mutex(facts)
  }

  var facts: PowerLossFacts { noted.withLock { $0 } }

  /// Tells where the relay is now.
  func relay(at address: TestAddress) {
    relay.change {
      $0.address = address
      $0.generation += 1
    }
  }

  /// A change that the operator asked for was made.
  func noteChange() {
    let length = Journal.length(of: journal)
    noted.withLock { $0.changes.append(length) }
  }

  /// One sender: posts batches until there is none.
  func send() async throws {
    var generation = 0
    while let batch = nextBatch() {
      for _ in 0..<(batch.isRepeated ? 2 : 1) {
        try await post(batch, &generation)
      }
    }
  }

  private func post(_ batch: PowerLossLoad.Batch, _ generation: inout Int) async throws {
    while true {
      guard let relay = await relay.wait(until: { $0.address != nil }), let address = relay.address else {
        throw TestFailure("there is no relay")
      }
      generation = relay.generation
      if batch.kind == .denied { noted.withLock { $0.deniedSent += batch.ids.count } }
      let key = batch.kind == .waiting ? "aso_wk_slow" : "aso_wk_test"
      if let answer = try? await RelayProcess.post(batch.body, to: address, key: key), answer.status == 200 {
        guard answer.json?["accepted"]?.integer() == batch.ids.count else { throw TestFailure(answer.text) }
        return note(batch)
      }
      // It is going, or gone: the next one has to come.
      let gone = generation
      guard await self.relay.wait(until: { $0.generation > gone }) != nil else {
        throw TestFailure("the relay doesn't take a batch, and no other relay comes")
      }
    }
  }

  private func note(_ batch: PowerLossLoad.Batch) {
    let length = Journal.length(of: journal)
    noted.withLock { facts in
      guard batch.kind != .denied else {
        return facts.denied.append(PowerLossFacts.Count(events: batch.ids.count, length: length))
      }
      for id in batch.ids { facts.answered[id] = min(facts.answered[id] ?? .max, length) }
    }
  }

  private func nextBatch() -> PowerLossLoad.Batch? {
    next.withLock { next in
      guard next < load.batches.count else { return nil }
      defer { next += 1 }
      return load.batches[next]
    }
  }
}
