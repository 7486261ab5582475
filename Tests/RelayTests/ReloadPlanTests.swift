import Configuration
import Foundation
import Sinks
import TestSupport
import Testing

@testable import Relay

extension ReloadPlan {
  /// Of a relay whose sinks are those that are configured.
  fileprivate init(from old: RelayConfiguration, to new: RelayConfiguration) {
    self.init(from: old, to: new, sinks: old.sinks.map(\.name))
  }
}

@Suite("A reload's plan")
struct ReloadPlanTests {
  private let old = RelayConfiguration(dataDirectory: "/d")

  private func sink(_ name: String, _ path: String = "") throws -> RelayConfiguration.Sink {
    let directory = TemporaryDirectory()
    let file = directory.write(
      "relay.yaml", "sinks: [{ name: \(name), type: ndjson, path: \"/x/\(path.isEmpty ? name : path)/%Y.ndjson\" }]")
    let read = ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all)
    return try #require(try read.get().sinks.first)
  }

  @Test("of a configuration that is the same is empty")
  func same() {
    let plan = ReloadPlan(from: old, to: old)
    #expect(plan.isEmpty && plan.applied.isEmpty && plan.needsRestart.isEmpty && plan.result == old)
  }

  @Test("has its steps in order, names every key that differs, and says what is in use then")
  func keys() {
    var new = old
    new.logging.level = .debug
    new.apps = [RelayConfiguration.App(name: "ios")]
    new.ingest.keys = .listed
    new.ingest.maxConnections = 5
    new.ingest.listen = []
    new.upstream.url = "https://other.example"
    new.upstream.retry.jitter = 0
    new.dataDirectory = "/e"
    let plan = ReloadPlan(from: old, to: new)
    #expect(plan.steps == [.logging, .apps, .upstream, .ingest])
    #expect(
      plan.applied == [
        "ingest.keys", "ingest.max_connections", "apps", "upstream.url", "upstream.retry", "logging.level",
      ])
    #expect(plan.needsRestart == ["data_dir", "ingest.listen"])
    #expect(plan.result.dataDirectory == "/d" && plan.result.ingest.listen == old.ingest.listen)
    // The next one names only what is still open.
    let next = ReloadPlan(from: plan.result, to: new)
    #expect(next.isEmpty && next.needsRestart == ["data_dir", "ingest.listen"])
  }

  @Test("has the upstream told of what apps speak and where to they send, and not of what is only about their senders")
  func apps() {
    var (before, after) = (old, old)
    before.apps = [RelayConfiguration.App(name: "ios")]
    func plan(_ change: (inout RelayConfiguration.App) -> Void) -> ReloadPlan {
      after.apps = before.apps
      change(&after.apps[0])
      return ReloadPlan(from: before, to: after)
    }
    #expect(plan { $0.deniedIDs = DeniedIDs(["a"]) }.steps == [.apps])
    #expect(plan { $0.origins = ["*"] }.steps == [.apps])
    #expect(plan { $0.acceptKeys = [.init("k")] }.steps == [.apps])
    let changes: [(inout RelayConfiguration.App) -> Void] = [
      { $0.protocolName = "datalyr" }, { $0.upstream = .init() },
    ]
    for change in changes {
      let changed = plan(change)
      #expect(changed.steps == [.apps, .upstream] && changed.applied == ["apps"] && changed.result == after)
    }
    before.apps[0].deniedIDs = DeniedIDs(["a"])
    #expect(plan { $0.deniedIDs = DeniedIDs(["a"]) }.isEmpty && !plan { $0.deniedIDs = DeniedIDs(["b"]) }.isEmpty)
  }

  @Test("changes the window in which ids are remembered, but switches it neither on nor off")
  func dedupe() {
    var (off, hour, day) = (old, old, old)
    hour.ingest.dedupe.window = .seconds(3600)
    day.ingest.dedupe.window = .seconds(86_400)
    off.ingest.dedupe.window = .zero
    let longer = ReloadPlan(from: hour, to: day)
    #expect(longer.steps == [.ingest] && longer.applied == ["ingest.dedupe.window"])
    #expect(longer.result.ingest.dedupe.window == .seconds(86_400))
    for (from, to) in [(off, hour), (hour, off)] {
      let plan = ReloadPlan(from: from, to: to)
      #expect(plan.isEmpty && plan.needsRestart == ["ingest.dedupe.window"])
      #expect(plan.result.ingest.dedupe.window == from.ingest.dedupe.window)
    }
  }

  @Test("stops the sinks that go or change, and makes new ones only then")
  func sinks() throws {
    var (before, after) = (old, old)
    before.sinks = [try sink("kept"), try sink("gone"), try sink("moved")]
    after.sinks = [try sink("kept"), try sink("moved", "gone"), try sink("new", "moved")]
    let plan = ReloadPlan(from: before, to: after)
    #expect(plan.steps == [.stopSinks, .startSinks])
    #expect(plan.stopping == ["gone", "moved"])
    #expect(plan.removed == ["gone"])
    #expect(plan.starting.map(\.name) == ["moved", "new"])
    #expect(plan.applied == ["sinks.gone", "sinks.moved", "sinks.new"])
    #expect(plan.result == after)
    // Their order is nobody's business.
    after.sinks.reverse()
    var reversed = after
    reversed.sinks.reverse()
    #expect(ReloadPlan(from: after, to: reversed).isEmpty)
  }

  @Test("removes the sinks that are there and configured no longer, whichever configuration they come from")
  func leftOver() throws {
    var (before, after) = (old, old)
    before.sinks = [try sink("kept")]
    after.sinks = before.sinks
    // It was to go before, and didn't end.
    let plan = ReloadPlan(from: before, to: after, sinks: ["kept", "hung"])
    #expect(plan.steps == [.stopSinks] && plan.removed == ["hung"] && plan.stopping == ["hung"])
    #expect(plan.starting.isEmpty && plan.applied == ["sinks.hung"] && plan.result == after)
    #expect(ReloadPlan(from: before, to: after, sinks: ["kept"]).isEmpty)
    // Put back, it is made anew where that was.
    after.sinks.append(try sink("hung"))
    let back = ReloadPlan(from: before, to: after, sinks: ["kept", "hung"])
    #expect(back.steps == [.startSinks] && back.removed.isEmpty && back.starting.map(\.name) == ["hung"])
    // One that isn't there any more need not go.
    let gone = ReloadPlan(from: after, to: before, sinks: ["kept"])
    #expect(gone.isEmpty && gone.result == before)
  }

  @Test("keeps max_size where segments that are as large as before would leave no three of them")
  func maxSize() {
    var new = old
    new.log.segmentSize = 2 << 20
    new.log.maxSize = 6 << 20
    #expect(ReloadPlan(from: old, to: new).needsRestart == ["log.segment_size", "log.max_size"])
    new.log.maxSize = 3 * old.log.segmentSize
    let plan = ReloadPlan(from: old, to: new)
    #expect(plan.needsRestart == ["log.segment_size"])
    #expect(plan.applied == ["log.max_size"])
    #expect(plan.result.log.maxSize == new.log.maxSize && plan.result.log.segmentSize == old.log.segmentSize)
  }

  @Test("knows every key there is: one that is added must say what a reload does with it")
  func complete() {
    // Groups that are taken as one.
    let whole: Set<String> = ["upstream.retry", "upstream.rateLimit"]
    func leaves(_ value: Any, _ path: String) -> Int {
      let members = Mirror(reflecting: value).children
      let isGroup = Mirror(reflecting: value).displayStyle == .struct && !(value is Duration) && !whole.contains(path)
      guard isGroup, !members.isEmpty else { return 1 }
      return members.reduce(0) { $0 + leaves($1.value, path.isEmpty ? $1.label ?? "" : "\(path).\($1.label ?? "")") }
    }
    // Besides them there are the sinks, and the warnings, which are no key.
    #expect(leaves(old, "") == ReloadableKey.all.count + 2)
    #expect(Set(ReloadableKey.all.map(\.name)).count == ReloadableKey.all.count)
  }

  @Test("the page about reloading has every key, and what becomes of it")
  func page() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
    let page = try #require(readFile("\(root)/Sources/Relay/Docs.docc/Reloading.md"))
    let lines = String(decoding: page, as: UTF8.self).split(separator: "\n").map(String.init)
    for key in ReloadableKey.all {
      let row = lines.first { $0.hasPrefix("| ") && $0.contains("`\(key.name)`") }
      #expect(row?.contains("| restart |") == (key.step == nil), "\(key.name): \(row ?? "no row")")
    }
  }

  @Test("an answer tells faults, parts that failed, and what took effect")
  func outcome() {
    #expect(ReloadOutcome(applied: ["apps"]).status == 200)
    #expect(ReloadOutcome(applied: ["apps"]).json["needs_restart"]?.array?.isEmpty == true)
    #expect(ReloadOutcome(faults: ["x"]).status == 422)
    #expect(ReloadOutcome(faults: ["x"]).json["code"]?.string == "invalid_configuration")
    let partly = ReloadOutcome(applied: ["apps"], failures: [.init(key: "sinks.raw", message: "hangs")])
    #expect(partly.status == 500 && !partly.isDone)
    #expect(partly.json["failed"]?.array?.first?["key"]?.string == "sinks.raw")
    #expect(partly.json["applied"]?.array?.first?.string == "apps")
  }

  @Test("lets go of what guards the admin listener only with what else the new configuration has for it in use")
  func guards() {
    let file = PEMFile(path: "/pem", bytes: [])
    let (one, known) = (
      RelayConfiguration.TLS(certificate: file, key: file),
      RelayConfiguration.TLS(certificate: file, key: file, clientCA: file)
    )
    let (near, far) = (
      RelayConfiguration.Address.tcp(host: "127.0.0.1", port: 1),
      RelayConfiguration.Address.tcp(host: "0.0.0.0", port: 1)
    )
    typealias Admin = (
      listen: RelayConfiguration.Address, token: RelayConfiguration.Secret?, tls: RelayConfiguration.TLS?
    )
    func plan(_ before: Admin, _ after: Admin) -> ReloadPlan {
      var (from, to) = (old, old)
      (from.admin.listen, from.admin.token, from.admin.tls) = before
      (to.admin.listen, to.admin.token, to.admin.tls) = after
      return ReloadPlan(from: from, to: to)
    }
    let (token, other) = (RelayConfiguration.Secret("a-token"), RelayConfiguration.Secret("another"))
    // The listener stays where others reach it, or without TLS: what was asked for there is asked for until the restart.
    #expect(plan((far, token, nil), (near, nil, nil)).needsRestart == ["admin.listen", "admin.token"])
    #expect(plan((far, token, nil), (far, nil, known)).needsRestart == ["admin.token", "admin.tls"])
    #expect(plan((far, nil, known), (near, nil, one)).needsRestart == ["admin.listen", "admin.tls"])
    #expect(plan((far, token, known), (near, nil, one)).needsRestart == ["admin.listen", "admin.token", "admin.tls"])
    // More is asked for at once.
    #expect(plan((near, nil, nil), (far, token, nil)).applied == ["admin.token"])
    #expect(plan((far, token, nil), (near, other, nil)).applied == ["admin.token"])
    #expect(plan((near, nil, one), (far, nil, known)).applied == ["admin.tls"])
    // Where it listens as it is to, all is.
    #expect(plan((far, token, one), (far, nil, known)).applied == ["admin.token", "admin.tls"])
    #expect(plan((near, token, known), (near, nil, one)).applied == ["admin.token", "admin.tls"])
  }

  @Test("takes other certificates of a listener at once; TLS that is new, or goes, needs a restart")
  func certificates() {
    func tls(_ name: String) -> RelayConfiguration.TLS {
      let file = PEMFile(path: "/\(name)", bytes: [])
      return .init(certificate: file, key: file)
    }
    var (plain, one, other) = (old, old, old)
    (one.ingest.tls, one.admin.tls) = (tls("one"), tls("one"))
    (other.ingest.tls, other.admin.tls) = (tls("other"), tls("other"))
    other.ingest.maxConnections = 5
    let changed = ReloadPlan(from: one, to: other)
    #expect(changed.steps == [.ingest, .admin] && changed.needsRestart.isEmpty && changed.result == other)
    #expect(changed.applied == ["ingest.max_connections", "ingest.tls", "admin.tls"])
    plain.ingest.maxConnections = 5
    #expect(ReloadPlan(from: plain, to: other).needsRestart == ["ingest.tls", "admin.tls"])
    #expect(ReloadPlan(from: other, to: plain).needsRestart == ["ingest.tls", "admin.tls"])
    #expect(ReloadPlan(from: other, to: plain).result.ingest.tls == other.ingest.tls)
  }
}
