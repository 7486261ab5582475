import Configuration
import Dedupe
import Delivery
import EventLog
import JSON

/// What waits and doesn't fit the configuration, told from the files alone.
struct Misfits {
  let configuration: RelayConfiguration
  /// The instance's id; nil when it can't be read.
  let relay: String?
  /// Whether the relay sends to the stand-in upstream, whatever the configuration says.
  let standsIn: Bool
  /// Nil when it can't be read.
  let removed: RemovedSinkBook?

  /// A sentence each.
  func sentences(_ view: LogView, _ books: [String: DestinationView.Books]) -> [String] {
    view.destinations.flatMap { destination -> [String] in
      // (The memory of ids reads behind like a sink, and is none.)
      guard let found = books[destination.name], found.ledger.waiting > 0, destination.name != IDKeeper.destination
      else { return [] }
      return destination.name == Destinations.upstreamName
        ? upstream(destination, found) : sink(destination, Int(clamping: found.ledger.waiting))
    }
  }

  private func upstream(_ destination: DestinationView, _ books: DestinationView.Books) -> [String] {
    var sentences: [String] = []
    let names = Set(configuration.apps.map(\.name))
    if let relay, !standsIn {
      sentences += UpstreamDestination.holds(
        attachment: destination.attachment, waiting: books.waitingByApp, relay: relay,
        upstreams: Upstreams(configuration)
      ) { names.contains($0) }
    }
    for (app, count) in books.waitingByApp.sorted(by: { $0.key < $1.key })
    where count > 0 && !names.contains(app) && !app.hasPrefix("key-") {
      sentences.append("\(Self.events(count)) for app \(app), which is no longer configured: held until it is put back")
    }
    return sentences
  }

  private func sink(_ destination: DestinationView, _ waiting: Int) -> [String] {
    guard !configuration.sinks.contains(where: { $0.name == destination.name }) else { return [] }
    // What came after it was removed holds nothing.
    let before = removed?.entry(destination.name)?.heldBefore
    let held = before.flatMap { try? destination.waiting(before: $0) } ?? waiting
    guard held > 0 else { return [] }
    return [
      "\(Self.events(held)) for sink \(destination.name), which is no longer configured: they are kept for positions.keep"
    ]
  }

  private static func events(_ count: Int) -> String { count == 1 ? "1 event waits" : "\(count) events wait" }
}
