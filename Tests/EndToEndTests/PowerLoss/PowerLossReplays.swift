import JSON
import TestSupport

/// Asks a relay for replays, as an operator does, and notes what is answered.
struct PowerLossReplays: Sendable {
  /// One wish.
  struct Order: Sendable {
    var path = "/replays"
    var body: JSONValue

    /// What was refused goes to the upstream again, some events a second.
    static let letters = Order(path: "/dead-letters/replay", body: ["rate": JSONValue(150)])
    /// What the log has goes to the line files again.
    static let log = Order(body: ["to": "raw", "from_log": true, "rate": JSONValue(400)])
    /// What the log has of the app whose events wait: also out of segments that were written anew.
    static let waiting = Order(body: ["to": "raw", "from_log": true, "apps": ["slow"], "rate": JSONValue(400)])

    /// What the archive has goes to the webhook again.
    static func archive(_ directory: String) -> Order {
      Order(body: ["to": "hook", "from_archive": .string(directory), "rate": JSONValue(800)])
    }
  }

  let relay: RelayProcess
  /// Hears of every answer.
  var hears: @Sendable (PowerLossFacts.ToldReplay, _ hasBegun: Bool) -> Void = { _, _ in }

  /// Starts replays, or goes on with them.
  /// - Returns: what each has put into a queue before this.
  func start(_ orders: [Order]) async throws -> [PowerLossFacts.ToldReplay] {
    var begun: [PowerLossFacts.ToldReplay] = []
    for order in orders {
      let answer = try await ask("POST", order.path, order.body)
      for one in answer["replays"]?.array ?? [answer] {
        begun.append(try told(one, "sent_before"))
        hears(begun[begun.count - 1], true)
      }
    }
    return begun
  }

  /// Asks how replays are until they are such; each must end well.
  func follow(
    _ begun: [PowerLossFacts.ToldReplay],
    until holds: ([PowerLossFacts.ToldReplay]) -> Bool = { $0.allSatisfy(\.isDone) }
  ) async throws {
    try await lookAgain {
      var now: [PowerLossFacts.ToldReplay] = []
      for one in begun {
        let status = try await ask("GET", "/replays/\(one.id)")
        if ["failed", "stopped"].contains(status["state"]?.string) {
          throw TestFailure("a replay ends early: \(status)")
        }
        let told = try told(status, "sent")
        hears(told, false)
        now.append(told)
      }
      return !holds(now)
    }
  }

  private func told(_ status: JSONValue, _ key: String) throws -> PowerLossFacts.ToldReplay {
    guard let id = status["id"]?.string, let destination = status["to"]?.string, let sent: Int = status[key]?.integer()
    else { throw TestFailure("no replay's status: \(status)") }
    return PowerLossFacts.ToldReplay(
      id: id, destination: destination, sent: sent, isDone: status["state"]?.string == "done", length: 0)
  }

  private func ask(_ method: String, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
    let admin = relay.admin
    let answer = try await onThread {
      try TestConnection(to: admin).send(
        method, path, headers: [("Content-Type", "application/json")], body: body?.utf8 ?? [])
    }
    guard answer.status == 200, let json = answer.json else {
      throw TestFailure("\(method) \(path): \(answer.status) \(answer.text)")
    }
    return json
  }
}
