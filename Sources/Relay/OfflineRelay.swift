import Clocks
import Configuration
import DeadLetters
import Dedupe
import Delivery
import EventLog
import Glibc
import JSON
import Observability
import Records

/// A relay's data directory, looked at while no relay runs in it.
///
/// Holds the directory's lock meanwhile, and opens the log as a start would: what a crash left behind is mended by it.
public final class OfflineRelay: Sendable {
  let configuration: RelayConfiguration
  let directory: DataDirectory
  let log: FileLog
  private let subscriptions: [any Subscription]
  /// Nil when it can't be read.
  private let removed: RemovedSinkBook?

  /// - Returns: nil when there is no such directory, or a relay runs in it.
  /// - Throws: what keeps the directory from being opened.
  public init?(_ configuration: RelayConfiguration) throws {
    let path = configuration.dataDirectory
    guard access("\(path)/log", F_OK) == 0, !DataDirectory.isInUse(path) else { return nil }
    self.configuration = configuration
    directory = try DataDirectory.open(path)
    log = try FileLog.open(
      directory: "\(path)/log", positions: "\(path)/positions", replays: "\(path)/replays",
      configuration: FileLogConfiguration(configuration.log), logger: .silent, metrics: MetricsRegistry())
    removed = try? RemovedSinkBook(directory: path, logger: .silent)
    let log = log
    subscriptions = try log.knownDestinations.filter { $0 != IDKeeper.destination }.map {
      try log.subscribe($0, origin: .newest)
    }
  }

  public func close() {
    log.close()
    directory.close()
  }

  /// What `GET /status` would say.
  public func status() -> JSONValue {
    StatusReport.json(
      StatusReport.Facts(
        version: RelayVersion.current, relay: directory.instanceID, uptime: .zero, now: WallClock.system.now,
        ingestAddresses: [], adminAddress: "", standInAddress: nil, health: .closed, log: log.statistics,
        destinations: subscriptions.map(status(of:)), removedLetters: deadLetters.removedLetters,
        heldBytes: log.heldBytes, suppressed: suppressed, givenUp: (removed?.droppedEvents ?? 0, removed?.givenUp ?? [])
      ))
  }

  /// Nil when that can't be read: `doctor` says why.
  private var suppressed: SuppressionCounts? {
    do throws(FileError) {
      return switch try SuppressionCounts.read(configuration.dataDirectory) {
      case nil: SuppressionCounts()
      case .counts(let counts): counts
      case .damaged, .newer: nil
      }
    } catch {
      return nil
    }
  }

  var deadLetters: DeadLetterStore {
    DeadLetterStore(
      directory: "\(configuration.dataDirectory)/dead-letters", limits: DeadLetterLimits(configuration.deadLetters),
      logger: .silent)
  }

  private func status(of subscription: any Subscription) -> DestinationStatus {
    let isUpstream = subscription.destination == Destinations.upstreamName
    let type = configuration.sinks.first { $0.name == subscription.destination }?.type
    return DestinationStatus(
      name: subscription.destination, type: isUpstream ? "upstream" : type ?? "", state: .stopped,
      pending: subscription.pending, ledger: subscription.ledger)
  }

  /// What waits and doesn't fit the configuration, a sentence each.
  public func misfits() -> [String] {
    subscriptions.flatMap { subscription in
      subscription.destination == Destinations.upstreamName ? upstreamMisfits(subscription) : sinkMisfits(subscription)
    }
  }

  private func upstreamMisfits(_ subscription: any Subscription) -> [String] {
    let names = Set(configuration.apps.map(\.name))
    var sentences = UpstreamDestination.holds(
      attachment: subscription.attachment, waiting: subscription.waitingByApp, relay: directory.instanceID,
      upstreams: Upstreams(configuration)
    ) { names.contains($0) }
    for lane in subscription.pendingLanes() {
      guard let app = lane.app, !names.contains(app), !app.hasPrefix("key-") else { continue }
      let waiting = subscription.pending(lane).events
      sentences.append(
        "\(Self.events(waiting)) for app \(app), which is no longer configured: held until it is put back")
    }
    return sentences
  }

  private func sinkMisfits(_ subscription: any Subscription) -> [String] {
    guard !configuration.sinks.contains(where: { $0.name == subscription.destination }) else { return [] }
    let name = subscription.destination
    let now = WallClock.system.now
    let kept = RemovedSinkTime(removedAt: removed?.entry(name)?.removedAt ?? now, keep: configuration.positions.keep)
    return [
      "\(Self.events(subscription.pending.events)) for sink \(name), which is no longer configured: the log keeps what it "
        + "was owed then, and the rest as long as others need it, until it is put back; else \(kept.sentence)"
    ]
  }

  private static func events(_ count: Int) -> String {
    switch count {
    case 0: "nothing waits"
    case 1: "1 event waits"
    default: "\(count) events wait"
    }
  }
}
