import Apps
import DeadLetters
import EventsAPI
import JSON
import Replay

/// Carries out what somebody wants of past events, for the admin listener and for commands without a running relay.
struct ReplayOffice: Sendable {
  let desk: ReplayDesk
  let apps: AppRegistry

  /// The answer as JSON: a replay's status, a list of them under `replays`, or how many letters were `dropped`.
  func perform(_ order: ReplayOrder, by actor: String) throws(APIError) -> JSONValue {
    do throws(ReplayError) {
      switch order {
      case .replay(let request, let isDryRun):
        return try desk.start(request, isDryRun: isDryRun, by: actor).json
      case .letters(let filter, var template, let key, let isDryRun):
        if let key { template.sendAs = try app(ofKey: key, mayMake: !isDryRun) }
        let statuses = try desk.startDeadLetters(filter, template, isDryRun: isDryRun, by: actor)
        return ["replays": .array(statuses.map(\.json))]
      case .drop(let filter):
        let outcome = try desk.dropDeadLetters(filter, by: actor)
        return ["dropped": JSONValue(outcome.dropped), "left": JSONValue(outcome.left)]
      }
    } catch {
      throw APIError(error)
    }
  }

  /// The app that a key is of; with keys `any` one of its own, as for a sender's. The key itself is never shown.
  private func app(ofKey key: String, mayMake: Bool) throws(ReplayError) -> String? {
    guard mayMake else { return nil }
    var admission = apps.app(forKey: key)
    // (Whether the events came by the protocol that the app speaks shows when they are counted.)
    if case .otherProtocol(let number) = admission { admission = apps.app(forKey: key, dialect: number) }
    switch admission {
    case .app(let app): return app.name
    case .missingKey: throw ReplayError(.invalid, "the write key is empty")
    case .unknownKey, .otherProtocol:
      throw ReplayError(
        .invalid,
        "no app has this write key: add it under apps, as write_key or among accept_keys, and reload the configuration")
    case .tooManyKeys: throw ReplayError(.conflict, "the key would make another app, and there are too many of those")
    case .keyNotStored: throw ReplayError(.failed, "the key can't be stored")
    }
  }
}

extension APIError {
  init(_ error: ReplayError) {
    let text = error.description.prefix(1).uppercased() + error.description.dropFirst() + "."
    switch error.kind {
    case .invalid: self.init(status: 400, code: "invalid_request", message: text)
    case .notFound: self.init(status: 404, code: "not_found", message: text)
    case .conflict: self.init(status: 409, code: "conflict", message: text)
    case .failed: self = .serverError(text, status: 500)
    }
  }
}
