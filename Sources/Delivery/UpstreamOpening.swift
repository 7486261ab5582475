import EventLog
import JSON

/// What a start finds: whether the waiting events may go to the configured upstreams. A decision, without effects.
struct UpstreamOpening: Sendable {
  /// What is committed before anything is sent; its URLs are the ones the waiting events are for.
  var record: UpstreamRecord
  /// Why nothing at all is sent, and what to do; nil: all is well.
  var wholeHold: String?
  /// Why nothing is sent to the usual upstream.
  var usualHold: String?
  /// Why nothing of an app is sent whose events are, or were, for an upstream of its own.
  var appHolds: [String: String] = [:]
  /// There was a life before, and a record of it.
  let hasRecord: Bool
  /// The record differs from what is on disk.
  var mustCommit = false
  /// The usual upstream is another one than before.
  var isUsualNew = false
  /// Apps that have another upstream than before: that knows nothing of what the last one asked for or refused.
  var newApps: Set<String> = []

  /// Why nothing is sent to the usual upstream, for whatever reason.
  var hold: String? { wholeHold ?? usualHold }
  var holdsNothing: Bool { hold == nil && appHolds.isEmpty }

  /// - Parameters:
  ///   - waiting: by app, how many events wait.
  ///   - relay: the id of the instance that starts.
  init(attachment: JSONValue?, waiting: [String: Int], relay: String, upstreams: Upstreams) {
    hasRecord = attachment != nil
    do {
      record = try UpstreamRecord(attachment)
    } catch {
      record = UpstreamRecord(url: Self.shown(upstreams.usual.base), relay: relay)
      wholeHold = error.description
      return
    }
    let pending = waiting.values.reduce(0, +)
    if let other = record.relay, other != relay, pending > 0, !upstreams.usual.adoptsWaitingEvents {
      wholeHold =
        "\(Self.waiting(pending)) that relay \(other) accepted, and this is relay \(relay): if that one sends them "
        + "no more, start once with `event-relay run --adopt`; else give this one a data_dir of its own"
      return
    }
    if record.relay != relay {
      record.relay = relay
      mustCommit = true
    }
    let urlBefore = record.url
    let isOwn = Set(record.apps.keys).union(upstreams.byApp.keys)
    turnUsual(waiting.reduce(0) { isOwn.contains($1.key) ? $0 : $0 + $1.value }, upstreams.usual)
    turnApps(isOwn.sorted(), waiting, upstreams, urlBefore: urlBefore)
    // (Keys are on record by what is the usual upstream: a pause that isn't found costs one early try.)
    if isUsualNew { record.pauses = [] }
    let isNew = { [newApps, isUsualNew] app in newApps.contains(app) || isUsualNew && !isOwn.contains(app) }
    record.lanes.removeAll { isNew($0.app) }
    record.tried.removeAll { isNew($0.app) }
  }

  /// - Parameter pending: events that wait for it.
  private mutating func turnUsual(_ pending: Int, _ configuration: UpstreamConfiguration) {
    let url = Self.shown(configuration.base)
    guard record.url != url else { return }
    if let other = record.url, pending > 0, !configuration.adoptsWaitingEvents {
      usualHold =
        "\(Self.waiting(pending)) that \(pending == 1 ? "was" : "were") accepted for \(other): start once with `event-relay run --adopt` to "
        + "send them to \(url), or set upstream.url back"
      return
    }
    record.url = url
    // Another upstream knows nothing of the waits that the last one asked for.
    isUsualNew = true
    mustCommit = true
  }

  /// Takes up each app that has, or had, an upstream of its own.
  ///
  /// - Parameter urlBefore: the usual upstream that events were accepted for of apps that had none of their own.
  private mutating func turnApps(
    _ apps: [String], _ waiting: [String: Int], _ upstreams: Upstreams, urlBefore: String?
  ) {
    let before = record.apps
    let usualName = upstreams.usual.dialect.name
    for app in apps {
      let configuration = upstreams[app]
      let (name, url) = (configuration.dialect.name, Self.shown(configuration.base))
      let pending = waiting[app] ?? 0
      let accepted = before[app] ?? urlBefore.map { [usualName: $0] } ?? [:]
      if let other = accepted[name], other != url, pending > 0, !upstreams.usual.adoptsWaitingEvents {
        record.apps[app] = accepted
        appHolds[app] =
          "\(Self.waiting(pending)) of app \(app) that \(pending == 1 ? "was" : "were") accepted for \(other): start once with "
          + "`event-relay run --adopt` to send them to \(url), or set the app's upstream.url back"
        continue
      }
      if accepted[name] != url { newApps.insert(app) }
      // (What was accepted for another protocol's upstream may wait still.)
      var now = pending > 0 ? accepted : [:]
      now[name] = url
      let isUsual = upstreams.byApp[app] == nil && now == [usualName: record.url ?? url]
      record.apps[app] = isUsual ? nil : now
    }
    if record.apps != before { mustCommit = true }
  }

  static func waiting(_ events: Int) -> String { events == 1 ? "1 event waits" : "\(events) events wait" }

  /// A URL without the user and password it may hold.
  static func shown(_ url: String) -> String {
    guard let scheme = url.firstRange(of: "://") else { return url }
    let rest = url[scheme.upperBound...]
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let at = authority.lastIndex(of: "@") else { return url }
    return String(url[..<scheme.upperBound] + rest[rest.index(after: at)...])
  }
}

extension UpstreamOpening {
  /// Sentences for whoever asks before a start: why some of what waits would not be sent, and what to do.
  ///
  /// - Parameter isConfigured: whether an app is; of one that isn't, others tell.
  func sentences(_ waiting: [String: Int], _ upstreams: Upstreams, _ isConfigured: (String) -> Bool) -> [String] {
    if let wholeHold { return [wholeHold] }
    let apps = waiting.keys.sorted().filter { isConfigured($0) && waiting[$0] ?? 0 > 0 }
    return [usualHold].compactMap(\.self) + apps.compactMap { appHolds[$0] }
      + apps.compactMap { app in
        let name = upstreams[app].dialect.name
        let others = (record.apps[app] ?? [:]).keys.filter { $0 != name }.sorted()
        guard !others.isEmpty else { return nil }
        return Self.otherProtocol(
          "\(Self.waiting(waiting[app] ?? 0)) of app \(app)", others.joined(separator: ", "), name)
      }
  }

  /// - Parameter what: what waits, and of which app.
  static func otherProtocol(_ what: String, _ spoken: String, _ speaks: String) -> String {
    "\(what), and what of it came by \(spoken) can't go to an upstream of \(speaks): set the app's protocol and upstream "
      + "back until it is sent"
  }
}
