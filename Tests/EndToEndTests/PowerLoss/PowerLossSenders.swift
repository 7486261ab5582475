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
  /// How many batches were answered, and whether the last ones may be sent.
  private let answered = Fact(0)
  private let mayFinish = Fact(false)

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

  /// Waits until most batches were answered; the rest is held back.
  func waitForMost() async throws {
    let most = most
    guard await answered.wait(until: { $0 >= most }) != nil else {
      throw TestFailure("the relays don't take most batches")
    }
  }

  /// Lets the rest go out.
  func finish() { mayFinish.change { $0 = true } }

  private var most: Int { load.batches.count * 4 / 5 }

  /// What was answered to whoever asked for a replay.
  func note(_ told: PowerLossFacts.ToldReplay, hasBegun: Bool) {
    var told = told
    told.length = Journal.length(of: journal)
    let noted = told
    self.noted.withLock { facts in
      if hasBegun { facts.begun.append(noted) } else { facts.replays.append(noted) }
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
    while let (number, batch) = nextBatch() {
      if number >= most, await mayFinish.wait(until: { $0 }) == nil {
        throw TestFailure("the last batches aren't let out")
      }
      for _ in 0..<(batch.isRepeated ? 2 : 1) {
        try await post(batch, &generation)
      }
      answered.change { $0 += 1 }
    }
  }

  private func post(_ batch: PowerLossLoad.Batch, _ generation: inout Int) async throws {
    let end = ContinuousClock.now + .seconds(300)
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
      guard ContinuousClock.now < end else { throw TestFailure("no relay takes a batch") }
      // It is gone, and the next one has to come; or it is busy.
      let last = generation
      await self.relay.wait(within: .milliseconds(100)) { $0.generation > last }
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

  private func nextBatch() -> (Int, PowerLossLoad.Batch)? {
    next.withLock { next in
      guard next < load.batches.count else { return nil }
      defer { next += 1 }
      return (next, load.batches[next])
    }
  }
}
