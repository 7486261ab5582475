import Configuration

/// What a changed configuration asks of a running relay, in order: two configurations in, steps out, and nothing is done.
struct ReloadPlan: Sendable, Equatable {
  /// In the order in which they are done.
  enum Step: Int, Sendable, Comparable, CaseIterable {
    /// First, so that what follows is told as the user wants it now.
    case logging
    /// Senders' keys, before anything is sent with them.
    case apps
    /// Before those that are made anew: a path may go from one sink to another.
    case stopSinks
    case log, deadLetters, positions
    case startSinks
    case upstream
    case ingest, admin, shutdown

    static func < (one: Step, other: Step) -> Bool { one.rawValue < other.rawValue }
  }

  var steps: [Step]
  /// The keys that take effect, as in the file; a sink as `sinks.NAME`.
  var applied: [String]
  /// Those that a restart alone brings.
  var needsRestart: [String]
  /// Sinks that are there and configured no longer.
  var removed: [String] = []
  /// Sinks that are stopped and made anew.
  var changed: [RelayConfiguration.Sink] = []
  var added: [RelayConfiguration.Sink] = []
  /// What is in use when all is done.
  var result: RelayConfiguration

  /// - Parameter sinks: the names of those that are there and not removed yet. One that didn't end when it was to go is
  ///   among them, and stands in neither configuration.
  init(from old: RelayConfiguration, to new: RelayConfiguration, sinks: [String]) {
    var steps: Set<Step> = []
    (applied, needsRestart, result) = ([], [], old)
    for key in ReloadableKey.all where key.differs(old, new) {
      guard let step = Self.step(of: key, from: old, to: new) else {
        needsRestart.append(key.name)
        continue
      }
      steps.insert(step)
      applied.append(key.name)
      key.take(new, &result)
      if key.name == "apps", Self.ways(of: old) != Self.ways(of: new) { steps.insert(.upstream) }
    }
    for sink in new.sinks {
      guard let before = old.sinks.first(where: { $0.name == sink.name }) else {
        added.append(sink)
        continue
      }
      if before != sink { changed.append(sink) }
    }
    let names = Set(new.sinks.map(\.name))
    removed = sinks.filter { !names.contains($0) }
    applied += (removed + changed.map(\.name) + added.map(\.name)).map(Self.key)
    if !removed.isEmpty || !changed.isEmpty { steps.insert(.stopSinks) }
    if !changed.isEmpty || !added.isEmpty { steps.insert(.startSinks) }
    result.sinks = new.sinks
    result.warnings = new.warnings
    self.steps = steps.sorted()
  }

  /// By which protocol and where to the events of each app go.
  private static func ways(of configuration: RelayConfiguration) -> [String: RelayConfiguration.App] {
    let apps = configuration.apps.map { app in
      var way = RelayConfiguration.App(name: app.name)
      (way.protocolName, way.upstream) = (app.protocolName, app.upstream)
      return (app.name, way)
    }
    return Dictionary(apps) { first, _ in first }
  }

  /// How a sink stands in answers.
  static func key(ofSink name: String) -> String { "sinks.\(name)" }

  /// The step that takes a key into use; nil when a restart must.
  private static func step(
    of key: ReloadableKey, from old: RelayConfiguration, to new: RelayConfiguration
  ) -> Step? {
    // Segments keep their size until a restart: fewer than three of them are no log.
    let keepsSize = new.log.segmentSize != old.log.segmentSize && new.log.maxSize < 3 * old.log.segmentSize
    let isSwitched = (old.ingest.dedupe.window == .zero) != (new.ingest.dedupe.window == .zero)
    let isMoved = old.admin.listen != new.admin.listen || (old.admin.tls == nil) != (new.admin.tls == nil)
    let losesAuthorities = old.admin.tls?.clientCA != nil && new.admin.tls?.clientCA == nil
    switch key.name {
    case "log.max_size" where keepsSize, "ingest.dedupe.window" where isSwitched: return nil
    // A listener speaks TLS from its start or never.
    case "ingest.tls" where (old.ingest.tls == nil) != (new.ingest.tls == nil): return nil
    case "admin.tls" where (old.admin.tls == nil) != (new.admin.tls == nil): return nil
    // What keeps strangers out stays as long as the place does where it is needed.
    case "admin.token" where new.admin.token == nil && isMoved, "admin.tls" where losesAuthorities && isMoved:
      return nil
    default: return key.step
    }
  }

  var isEmpty: Bool { steps.isEmpty }

  /// Sinks that are to stop: the removed ones and those that are made anew.
  var stopping: [String] { removed + changed.map(\.name) }
  var starting: [RelayConfiguration.Sink] { changed + added }
}
