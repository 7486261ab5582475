import Foundation
import Observability
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite("The client's thread", .timeLimit(.minutes(2)))
struct LoopTests {
  @Test("is where its actors run, through requests and sleeps", arguments: [false, true])
  func pinnedActor(isPreferred: Bool) async throws {
    let server = ScriptedServer.agreeable()
    try await withClient { client in
      let resident = Resident(client)
      let isHere = await Task(executorPreference: isPreferred ? client : nil) {
        await resident.isAlwaysHere(HTTPClientRequest(url: server.url))
      }.value
      #expect(isHere)
      #expect(!client.isCurrentThread)
    }
  }

  @Test("runs jobs in the order they came, from any number of threads")
  func jobs() async throws {
    try await withClient { client in
      let resident = Resident(client)
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<1000 { group.addTask { await resident.note(number) } }
      }
      #expect(await resident.notes.sorted() == Array(0..<1000))
    }
  }

  @Test("does what was asked of it before it started")
  func beforeStart() async throws {
    let client = HTTPClientLoop(logger: .silent)
    let resident = Resident(client)
    let task = Task { await resident.note(1) }
    client.start()
    client.start()
    await task.value
    #expect(await resident.notes == [1])
    await client.shutdown()
  }

  @Test("can be shut down without ever having run")
  func neverStarted() async throws {
    let client = HTTPClientLoop(logger: .silent)
    await client.shutdown()
    #expect(await client.send(HTTPClientRequest(url: "http://127.0.0.1/")).failure != nil)
  }

  @Test("goes on for its actors after the shutdown")
  func afterShutdown() async throws {
    let client = HTTPClientLoop(logger: .silent)
    client.start()
    let resident = Resident(client)
    await client.shutdown()
    for number in 0..<20 { await resident.note(number) }
    #expect(await resident.notes.count == 20)
    await client.shutdown()
  }

  @Test("can be shut down by an actor that lives on it")
  func shutdownFromWithin() async throws {
    actor Owner {
      let client: HTTPClientLoop
      nonisolated var unownedExecutor: UnownedSerialExecutor { client.asUnownedSerialExecutor() }
      init(_ client: HTTPClientLoop) { self.client = client }
      func end() async -> Bool {
        await client.shutdown()
        return client.isCurrentThread
      }
    }
    let client = HTTPClientLoop(logger: .silent)
    client.start()
    #expect(await Owner(client).end())
  }

  @Test("is let go of after the shutdown")
  func release() async throws {
    weak var released: HTTPClientLoop?
    do {
      let client = HTTPClientLoop(logger: .silent)
      client.start()
      released = client
      await client.shutdown()
    }
    // The thread lets go of it as its very last deed.
    try await lookAgain { released != nil }
  }
}

@Suite("A sleep on the client's thread", .timeLimit(.minutes(2)))
struct SleepTests {
  @Test("ends when its time has come, never before, the earliest first")
  func order() async {
    let client = HTTPClientLoop(logger: .silent)
    let resident = Resident(client)
    let start = ContinuousClock.now
    // All of them are there before the first can end, since the thread isn't.
    let tasks = (0..<50).shuffled().map { number in
      Task(executorPreference: client) { await resident.sleep(until: start + .milliseconds(number), note: number) }
    }
    client.start()
    for task in tasks { await task.value }
    #expect(await resident.notes == Array(0..<50))
    await client.shutdown()
  }

  @Test("ends at once when its task is cancelled, before or meanwhile, or the client shut down")
  func cancellation() async throws {
    try await withClient { client in
      let sleep: @Sendable () async throws -> Void = { try await client.sleep(for: .seconds(3600)) }
      let before = Task { try await sleep() }
      before.cancel()
      await #expect(throws: CancellationError.self) { try await before.value }

      let meanwhile = Task { try await sleep() }
      let late = Task { try await sleep() }
      try await lookAgain { await Resident(client).timers < 2 }
      meanwhile.cancel()
      await #expect(throws: CancellationError.self) { try await meanwhile.value }
      await client.shutdown()
      await #expect(throws: CancellationError.self) { try await late.value }
      await #expect(throws: CancellationError.self) { try await sleep() }
    }
  }

  @Test("is kept in order whatever is added and taken out")
  func heap() {
    var random = SystemRandomNumberGenerator()
    let timers = LoopTimers()
    var model: [LoopTimer] = []
    let start = ContinuousClock.now
    for step in 0..<5000 {
      if model.isEmpty || Int.random(in: 0..<5, using: &random) > 1 {
        let timer = LoopTimer(deadline: start + .milliseconds(Int.random(in: 0..<1000, using: &random)))
        timers.add(timer)
        model.append(timer)
      } else if step % 2 == 0 {
        timers.cancel(model.remove(at: Int.random(in: model.indices, using: &random)))
      } else {
        let now = start + .milliseconds(Int.random(in: 0..<100, using: &random))
        timers.fire(at: now)
        model.removeAll { $0.deadline <= now }
      }
      guard timers.count == model.count, timers.next == model.map(\.deadline).min() else {
        Issue.record("wrong after step \(step): \(timers.count) for \(model.count)")
        return
      }
    }
  }
}

extension Resident {
  /// How many sleep on the client's thread.
  var timers: Int { client.core.timers.count }
}
