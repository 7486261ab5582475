import Clocks
import Configuration
import EventLog
import Glibc
import JSON
import Records

/// Looks a relay over, whether it runs or not: reads its files and its status, changes nothing, and holds nothing up.
///
/// Blocks on the disk: call it on a thread of its own.
public struct Doctor: Sendable {
  let configuration: RelayConfiguration
  /// What is wrong with the configuration as `check` would say it, a line each.
  let faults: [String]
  /// The running relay's status; nil when none runs.
  let status: @Sendable () -> JSONValue?
  let isDeep: Bool

  public init(
    _ configuration: RelayConfiguration, faults: [String], isDeep: Bool, status: @escaping @Sendable () -> JSONValue?
  ) {
    self.configuration = configuration
    self.faults = faults
    self.isDeep = isDeep
    self.status = status
  }

  /// `{"ok":…,"running":…,"data_dir":…,"checks":[{"name","ok","detail","remedy"}]}`, the ledger's checks first.
  public func examine() -> JSONValue {
    let status = status()
    let standsIn = status?["stand_in"] != nil
    let directory = configuration.dataDirectory + (standsIn ? "-stand-in" : "")
    let isInUse = DataDirectory.isInUse(directory)
    var checks: [DoctorCheck] = []
    if access("\(directory)/log", F_OK) == 0 || status != nil {
      let ledger = LedgerExamination(dataDirectory: directory, isInUse: isInUse, status: self.status).run()
      checks += ledger.checks
      if isInUse, status == nil { checks.append(Self.silent(directory)) }
      checks.append(withoutSegments(directory, ledger) ?? log(directory))
      checks.append(SuppressionExamination(dataDirectory: directory, status: self.status).check())
      checks += queues(directory, ledger.view)
      if let view = ledger.view {
        checks += sinks(
          SinkExamination(configuration: configuration, view: view, books: ledger.books, isDeep: isDeep), status)
        checks.append(clock(view))
        checks.append(waiting(directory, view, ledger.books, standsIn: standsIn))
      }
      checks.append(disk(directory))
      checks.append(FileModes(below: directory).check(directory))
    } else {
      checks.append(.ok("data", "\(directory) has no log yet: no relay has run with this configuration"))
    }
    checks += CertificateExamination(configuration: configuration, status: status, now: WallClock.system.now).checks()
    checks.append(configured())
    return [
      "ok": .bool(checks.allSatisfy(\.isOK)), "running": .bool(status != nil || isInUse),
      "data_dir": .string(directory),
      "checks": .array(checks.map(\.json)),
    ]
  }

  private static func silent(_ directory: String) -> DoctorCheck {
    .wrong(
      "relay",
      "a relay uses \(directory), and gives no status at the configuration's admin address: how its destinations "
        + "are was not looked at",
      "event-relay status says why; has the configuration changed since its start?")
  }

  /// Before the first event there is no segment, nor may there be after a crash once every event is settled; nil: there is
  /// one, or there should be.
  private func withoutSegments(_ directory: String, _ ledger: LedgerExamination.Result) -> DoctorCheck? {
    guard let names = try? FileSystem.system.list("\(directory)/log"), ledger.view != nil,
      !names.contains(where: { $0.hasPrefix("segment-") || $0.hasPrefix("damaged-") })
    else { return nil }
    let books = ledger.books.values.map(\.ledger)
    if books.allSatisfy({ $0.accepted == 0 }) { return .ok("log", "no event was ever taken in") }
    if ledger.checks.allSatisfy(\.isOK), books.allSatisfy({ $0.waiting == 0 }) {
      return .ok("log", "no segment: every event is settled")
    }
    return .wrong(
      "log", "there is no segment, and not every event is settled", "put the log's files back from a backup")
  }

  private func log(_ directory: String, name: String = "log") -> DoctorCheck {
    do throws(LogError) {
      let report = try LogInspection.verify(directory)
      guard let damage = report.damages.first else {
        return .ok(name, "\(report.frames) records in \(report.segments.count) segments, every checksum is right")
      }
      let lost = report.lostEvents > 0 ? ", \(report.lostEvents) events are lost" : ", no event is lost"
      return .wrong(
        name, "\(damage.file), offset \(damage.offset): \(damage.detail) is damaged\(lost)",
        "look after the disk; event-relay log verify \(directory) names every damage")
    } catch {
      return .wrong(name, error.description, "put the log's files back from a backup")
    }
  }

  private func queues(_ directory: String, _ view: LogView?) -> [DoctorCheck] {
    (view?.destinations ?? []).compactMap { destination in
      let log = "\(directory)/replays/\(destination.name)/log"
      guard access(log, F_OK) == 0 else { return nil }
      let check = self.log(log, name: "replays \(destination.name)")
      // An empty one has no segment.
      return check.isOK || destination.hasReplaySegments ? check : nil
    }
  }

  /// Archives and line files; a running relay is waited for when it publishes a file just then.
  private func sinks(_ examination: SinkExamination, _ status: JSONValue?) -> [DoctorCheck] {
    var checks = examination.checks()
    for _ in 0..<3 where status != nil && checks.contains(where: { !$0.isOK }) {
      usleep(200_000)
      checks = examination.checks()
    }
    for destination in status?["destinations"]?.array ?? [] {
      let name = destination["name"]?.string ?? "?"
      let state = destination["state"]?.string ?? "?"
      let detail = Self.sentence(of: destination, state)
      checks.append(
        ["running", "paced", "waiting"].contains(state)
          || (state == "stopped" && destination["type"]?.string == RemovedSink.type)
          ? .ok("destination \(name)", detail)
          : .wrong("destination \(name)", detail, "the sentence says what to do; event-relay status shows each app"))
    }
    return checks
  }

  /// The state, what it means and what failed last, once each.
  private static func sentence(of destination: JSONValue, _ state: String) -> String {
    var text = state
    for more in [destination["detail"]?.string, destination["last_error"]?.string].compactMap({ $0 })
    where !text.contains(more) && !more.isEmpty { text += ": \(more)" }
    return text
  }

  private func clock(_ view: LogView) -> DoctorCheck {
    let now = WallClock.system.now
    guard let newest = view.newestReceivedAt, newest > now + .seconds(5) else {
      return .ok("clock", "\(now), not before the newest event")
    }
    return .wrong(
      "clock", "it is \(now) here, and the newest event was received at \(newest)",
      "set the clock right; until then no occurred_at is judged")
  }

  private func waiting(
    _ directory: String, _ view: LogView, _ books: [String: DestinationView.Books], standsIn: Bool
  ) -> DoctorCheck {
    let misfits = Misfits(
      configuration: configuration, relay: DataDirectory.instanceID(in: directory), standsIn: standsIn,
      removed: try? RemovedSinkBook(directory: directory, logger: .silent))
    let sentences = misfits.sentences(view, books)
    guard let first = sentences.first else { return .ok("waiting events", "all fit the configuration") }
    return .wrong(
      "waiting events", sentences.count == 1 ? first : "\(first); and \(sentences.count - 1) more such",
      "put back what was removed, or see event-relay check for all of them")
  }

  private func disk(_ directory: String) -> DoctorCheck {
    let free = FreeSpace(path: directory, minimum: configuration.log.minFreeDisk)
    let detail =
      "\(SizeText.rounded(Int(clamping: free.availableBytes))) free, log.min_free_disk is "
      + SizeText.exact(configuration.log.minFreeDisk)
    return free.isLow ? .wrong("disk", detail, "free space: no events are taken in until then") : .ok("disk", detail)
  }

  private func configured() -> DoctorCheck {
    guard let first = faults.first else { return .ok("configuration", "is right") }
    return .wrong(
      "configuration", faults.count == 1 ? first : "\(first); and \(faults.count - 1) more faults",
      "see event-relay check")
  }
}
