import Clocks
import EventLog
import Foundation
import JSON
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A webhook's dead letters")
struct WebhookDeadLetterTests {
  private let bench = WebhookBench()

  private var numbers: [Int] { bench.deadLetters.map { $0["seq"]?.integer() ?? -1 } }

  @Test("are the batches that the receiver refuses, with its status and its words, a secret of ours left out")
  func refused() throws {
    bench.options.secrets = [try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
    bench.options.headers = [WebhookHeader(name: "Authorization", value: .init("Bearer hunter2"))]
    bench.restart()
    bench.add(4)
    bench.run()
    bench.answer(422, "bad \u{7}thing with Bearer hunter2\nand whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    bench.answer(413)
    #expect(numbers == [1, 2, 3, 4])
    let first = try #require(bench.deadLetters.first)
    #expect(first["destination"]?.string == "hook" && first["reason"]?.string == "refused")
    #expect(first["status"]?.integer() == 422 && first["attempts"]?.integer() == 1)
    #expect(first["message"]?.string == "bad \u{7}thing with (secret) and (secret)".filter { $0 != "\u{7}" })
    #expect(first["event"] == ["a": 1] && first["relay"]?.string == "r-1")
    let last = try #require(bench.deadLetters.last)
    #expect(last["reason"]?.string == "too_large" && last["status"]?.integer() == 413)
    #expect(last["message"]?.isNull == true)
    #expect(bench.settled == Tally([.refused: 3, .tooLarge: 1]) && bench.committed == 4)
    #expect(bench.worker.condition.state == .refused)
    #expect(bench.worker.condition.failure?.contains("bad") == false, "a receiver's words may quote events")
    #expect(bench.attempts(.refused) == 1 && bench.attempts(.tooLarge) == 1)
  }

  @Test("are the batches that were tried for too long")
  func givenUp() throws {
    bench.options.retry.giveUpAfter = .seconds(12)
    bench.restart()
    bench.add(4)
    bench.run()
    bench.answer(500)
    bench.passDelay()
    bench.run()
    _ = bench.fail(.connect, "refused")
    #expect(bench.deadLetters.isEmpty)
    bench.passDelay()
    bench.run()
    _ = bench.fail(.connect, "refused")
    #expect(numbers == [1, 2, 3])
    let letter = try #require(bench.deadLetters.first)
    #expect(letter["reason"]?.string == "gave_up" && letter["attempts"]?.integer() == 3)
    #expect(letter["status"]?.isNull == true && letter["message"]?.string?.contains("refused") == true)
    // The next batch waits its turn.
    #expect(bench.receiver.requests.count == 3)
    #expect(bench.worker.condition.state == .waiting && bench.worker.condition.retryAt != nil)
    bench.passDelay()
    bench.run()
    #expect(bench.worker.condition.retryAt == nil)
    bench.answer(200)
    #expect(bench.settled == Tally([.gaveUp: 3, .delivered: 1]))
  }

  @Test("leave a sink that owes nothing any more without a complaint, but for the last error")
  func nothingLeft() {
    bench.options.retry = WebhookRetry(initial: .seconds(5), max: .seconds(5), giveUpAfter: .seconds(5))
    bench.restart()
    bench.add(1)
    bench.run()
    bench.answer(500)
    bench.passDelay()
    bench.run()
    bench.answer(500)
    #expect(bench.settled == Tally([.gaveUp: 1]))
    bench.passDelay()
    bench.run()
    #expect(bench.worker.condition.state == nil && bench.worker.condition.failure == nil)
    #expect(bench.worker.condition.retryAt == nil && bench.worker.condition.lastError?.contains("500") == true)
  }

  @Test(
    "are each written once, wherever the writing fails or the process ends",
    arguments: [FileError.Operation.create, .write, .sync, .syncDirectory, .makeDirectory])
  func exact(operation: FileError.Operation) {
    bench.add(6)
    bench.run()
    bench.faults[operation] = EIO
    bench.answer(400)
    #expect(bench.worker.condition.state == .failing)
    #expect(bench.worker.condition.failure?.contains("Dead letters") == true)
    #expect(bench.settled.total == 0)
    bench.faults.clear()
    bench.pass(.seconds(1))
    bench.run()
    #expect(numbers == [1, 2, 3])
    // Nothing was sent for it again.
    #expect(bench.receiver.requests.map(\.numbers) == [[1, 2, 3], [4, 5, 6]])
    bench.faults[operation] = EIO
    bench.answer(400)
    bench.faults.clear()
    bench.restart()
    bench.run()
    if bench.receiver.isWaiting { bench.answer(400) }
    #expect(numbers == [1, 2, 3, 4, 5, 6])
    #expect(bench.settled == Tally([.refused: 6]))
  }

  @Test("are cut off when the position was not committed with them, and written again")
  func uncommitted() {
    bench.add(3)
    bench.run()
    bench.answer(400)
    #expect(numbers == [1, 2, 3])
    bench.add(3)
    bench.run()
    bench.log.state.withLock { $0.failsCommit = true }
    bench.answer(400)
    bench.log.state.withLock { $0.failsCommit = false }
    bench.restart()
    bench.run()
    #expect(numbers == [1, 2, 3])
    bench.answer(400)
    #expect(numbers == [1, 2, 3, 4, 5, 6])
    #expect(Set(bench.receiver.requests.suffix(2).map(\.id)).count == 1)
  }

  @Test("are cut off in a file whose very first lines they were, too")
  func uncommittedFile() {
    bench.add(3)
    bench.run()
    bench.failsCommitAfterSync.isSet = true
    bench.answer(400)
    #expect(numbers == [1, 2, 3] && bench.settled.total == 0)
    bench.failsCommitAfterSync.isSet = false
    bench.log.state.withLock { $0.failsCommit = false }
    bench.restart()
    bench.run()
    #expect(numbers == [])
    bench.answer(400)
    #expect(numbers == [1, 2, 3] && bench.settled == Tally([.refused: 3]))
  }
}
