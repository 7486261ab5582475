/// The apps of the configuration, arranged for looking up.
struct AppDirectory: Sendable {
  let mode: KeyMode
  /// By protocol.
  let defaultApps: [UInt8: App]
  /// The protocols that apps' senders speak.
  let dialects: Set<UInt8>
  /// The origins whose pages may post, by protocol.
  let rules: [UInt8: [AppRules]]
  /// In the configuration's order.
  let names: [String]
  private var byKey = KeyTable<App>()
  private var upstreamKeys: [String: String] = [:]
  private let dialectsByName: [String: UInt8]
  private let nameSet: Set<String>

  /// - Throws: ``AppsError`` when the apps contradict each other.
  init(apps: [AppDefinition], mode: KeyMode) throws(AppsError) {
    self.mode = mode
    names = apps.map(\.name)
    nameSet = Set(names)
    dialects = Set(apps.map(\.dialect))
    dialectsByName = Dictionary(apps.map { ($0.name, $0.dialect) }) { first, _ in first }
    rules = Dictionary(grouping: apps.filter { $0.rules != nil }, by: \.dialect).mapValues { $0.compactMap(\.rules) }
    var defaultApps: [UInt8: App] = [:]
    var seen: Set<String> = []
    for definition in apps {
      guard seen.insert(definition.name).inserted else { throw .repeatedName(definition.name) }
      let app = App(
        name: definition.name, metricLabel: definition.name, dialect: definition.dialect, rules: definition.rules)
      for key in definition.keys {
        guard KeyRules.isKey(key) else { throw .malformedKey(app: app.name) }
        if let owner = byKey[key], owner != app { throw .sharedKey(app: owner.name, other: app.name) }
        byKey[key] = app
      }
      upstreamKeys[app.name] = definition.upstreamKey
      if definition.isDefault {
        if let other = defaultApps[app.dialect] { throw .severalDefaults(app: other.name, other: app.name) }
        defaultApps[app.dialect] = app
      }
    }
    self.defaultApps = defaultApps
  }

  func app(listing key: UnsafeRawBufferPointer) -> App? { byKey[key] }

  /// Whether anybody may send by this protocol.
  func speaks(_ dialect: UInt8) -> Bool {
    dialects.contains(dialect) || dialect == 0 && (mode == .any || dialects.isEmpty)
  }

  func has(_ name: String) -> Bool { nameSet.contains(name) }

  func dialect(of name: String) -> UInt8? { dialectsByName[name] }

  func upstreamKey(of name: String) -> String? { upstreamKeys[name] }
}
