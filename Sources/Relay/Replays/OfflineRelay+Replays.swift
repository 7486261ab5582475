import Apps
import Clocks
import DeadLetters
import EventsAPI
import JSON
import Observability
import Replay

/// What keeps a wish about past events from being carried out, in words for whoever asked.
public struct OfflineRefusal: Error, Sendable, CustomStringConvertible {
  public let description: String
}

extension OfflineRelay {
  /// Carries out, while no relay runs, what a running one would at one of its admin listener's paths: `/replays`,
  /// `/dead-letters/replay`, `/dead-letters/drop`. What is to be sent again lies in the destinations' queues afterwards.
  ///
  /// - Parameter goesOn: gets the replays' statuses now and then; false stops them.
  /// - Returns: what the path answers, of replays when they have ended.
  public func perform(_ path: String, _ body: JSONValue, _ goesOn: (JSONValue) -> Bool) throws -> JSONValue {
    do throws(APIError) {
      let order: ReplayOrder =
        switch path {
        case "/replays": try .replay(body)
        case "/dead-letters/replay": try .letters(body)
        default: try .drop(body)
        }
      let apps = try registry()
      let desk = try desk(apps)
      let answer = try ReplayOffice(desk: desk, apps: apps).perform(order, by: "command")
      guard case .drop = order else { return follow(answer, desk, goesOn) }
      return answer
    } catch {
      throw OfflineRefusal(description: error.message)
    }
  }

  private func desk(_ apps: AppRegistry) throws(APIError) -> ReplayDesk {
    var types = Dictionary(uniqueKeysWithValues: configuration.sinks.map { ($0.name, $0.type) })
    types[Destinations.upstreamName] = "upstream"
    // A sink that never ran has no place in the log yet.
    do {
      let known = Set(log.knownDestinations)
      for name in types.keys where !known.contains(name) { _ = try log.subscribe(name, origin: .newest) }
    } catch {
      throw .serverError("\(error)", status: 500)
    }
    let all = types
    let audit = AuditTrail(directory: configuration.dataDirectory)
    return ReplayDesk(
      ReplayDesk.Room(
        log: log, deadLetters: deadLetters, relay: directory.instanceID,
        directory: "\(configuration.dataDirectory)/replays", destinations: all, waitsForRoom: false,
        speaks: { apps.dialect(ofApp: $0) }, logger: .silent
      ) { action, actor, details in
        try audit.record(action, by: actor, details)
      })
  }

  private func registry() throws(APIError) -> AppRegistry {
    do {
      return try AppRegistry(
        apps: configuration.apps.map(AppDefinition.init), mode: configuration.ingest.keys == .any ? .any : .listed,
        storage: "\(configuration.dataDirectory)/keys", logger: .silent)
    } catch {
      throw .serverError("\(error)", status: 500)
    }
  }

  /// Waits until the replays have ended; each end of one, and each moment between, is shown.
  private func follow(_ answer: JSONValue, _ desk: ReplayDesk, _ goesOn: (JSONValue) -> Bool) -> JSONValue {
    let ids = (answer["replays"]?.array ?? [answer]).compactMap { $0["id"]?.string }
    func statuses() -> [ReplayStatus] { ids.compactMap { try? desk.status($0) } }
    while statuses().contains(where: { !$0.state.isOver }) {
      if !goesOn(["replays": .array(statuses().map(\.json))]) {
        for id in ids { _ = try? desk.stop(id) }
      }
      desk.waitForChange()
    }
    return ["replays": .array(statuses().map(\.json))]
  }
}
