extension RelayConfiguration {
  static let appsMax = 1000
  static let acceptKeysMax = 100
  static let originsMax = 100
  /// Bytes of a key file.
  static let keyFileBytesMax = 4096

  /// An app with the places of what must be unique.
  private struct ReadApp {
    var app: App
    var section: Section
    /// Nil when its protocol isn't known.
    var format: ProtocolFormat?
    var acceptLines: [Int] = []
  }

  /// - Parameter common: the `upstream` section, which is the first protocol's.
  static func readApps(_ root: Section, _ protocols: [ProtocolFormat], common: Upstream) -> [App] {
    let read = root.sections("apps", max: appsMax).map { readApp($0, protocols, common) }
    checkNames(read)
    checkDefault(read)
    checkKeys(read)
    return read.map(\.app)
  }

  private static func readApp(_ section: Section, _ protocols: [ProtocolFormat], _ common: Upstream) -> ReadApp {
    let format = ScalarFormat.name(
      prefixTaken: "key-", taken: ["other": "the metrics call the keys of no app so"])
    if !section.has("name") { section.fault("name", "is missing; every app needs \(format.noun)") }
    var read = ReadApp(app: App(name: section.value("name", format) ?? ""), section: section)
    // (One that is wrong is a fault already: what depends on it isn't judged.)
    let word = section.value("protocol", .word(of: protocols.map(\.name)))
    read.format = section.has("protocol") ? protocols.first { $0.name == word } : protocols[0]
    read.app.protocolName = word ?? protocols[0].name
    read.app.writeKey = readWriteKey(section, prefixes: read.format?.keyPrefixes ?? [])
    if let keys = section.list("accept_keys", max: acceptKeysMax, .secret("a key")) {
      read.app.acceptKeys = keys.map(\.value)
      read.acceptLines = keys.map(\.line)
    }
    section.read("default", into: &read.app.isDefault, .boolean)
    read.app.upstream = readUpstream(section, read.format, protocols, common)
    read.app.origins = readOrigins(section, read.format, protocols)
    let consent = section.section("consent")
    consent.readDeniedIDs("deny_ids_file", into: &read.app.deniedIDs)
    consent.finish()
    section.finish()
    checkReach(read)
    checkPages(read)
    return read
  }

  /// An app's own `upstream`; nil when it has none and needs none, since the common one is its protocol's.
  private static func readUpstream(
    _ section: Section, _ format: ProtocolFormat?, _ protocols: [ProtocolFormat], _ common: Upstream
  ) -> Upstream? {
    guard let format else {
      section.skip("upstream")
      return nil
    }
    let own = section.section("upstream")
    let isFirst = format.name == protocols[0].name
    guard own.isGroup, !isFirst || section.hasValue("upstream") else { return nil }
    var upstream = isFirst ? common : format.upstream
    upstream.read(own, format, isCommon: false)
    return upstream
  }

  private static func readOrigins(
    _ section: Section, _ format: ProtocolFormat?, _ protocols: [ProtocolFormat]
  ) -> [String] {
    guard let format else {
      section.skip("origins")
      return []
    }
    guard format.hasBrowserRoute else {
      let others = protocols.filter(\.hasBrowserRoute).map(\.name)
      let which = others.isEmpty ? "" : " (\(others.joined(separator: ", ")) has one)"
      section.refuse("origins", "\(format.title) has no route to which web pages post\(which); remove it")
      return []
    }
    let origins = section.list("origins", max: originsMax, .origin) ?? []
    for origin in origins where origin.value.hasPrefix("http://") && !URLText.isLocal(origin.value) {
      section.findings.warn(
        line: origin.line, key: section.child("origins"),
        "an origin is http: whoever is on the way can change such a page and what it posts; use https")
    }
    return origins.map(\.value)
  }

  private static func readWriteKey(_ section: Section, prefixes: [String]) -> Secret? {
    let key = section.value("write_key", .secret("a write key"))
    let file = section.value("write_key_file", .path(relativeTo: section.findings.directory))
    if section.has("write_key"), section.has("write_key_file") {
      section.fault("write_key_file", "stands beside write_key; an app has one of them: remove the other")
      return key
    }
    guard let value = key ?? file.flatMap({ readKeyFile($0, section) }) else { return nil }
    if !prefixes.isEmpty, !prefixes.contains(where: { value.revealed.hasPrefix($0) }) {
      section.warn(
        section.has("write_key") ? "write_key" : "write_key_file",
        "the key does not begin with \(prefixes.joined(separator: " or ")), as the upstream's keys do; is it the right one?"
      )
    }
    return value
  }

  private static func readKeyFile(_ path: String, _ section: Section) -> Secret? {
    section.findings.reads(path)
    switch FileText.read(path, bytesMax: keyFileBytesMax) {
    case .failure(let fault):
      section.fault("write_key_file", "\(section.findings.quoting.quote(path)): \(fault.message)")
    case .success(let bytes):
      let format = ScalarFormat.secret("a write key")
      do {
        return try format.parse(String(String(decoding: bytes, as: UTF8.self).trimmingSpaces))
      } catch {
        section.fault(
          "write_key_file",
          "the key in \(section.findings.quoting.quote(path)) \(error.problem); the file should hold \(format.noun)")
      }
    }
    return nil
  }

  /// An app must have a key to send with, and something that makes requests belong to it.
  private static func checkReach(_ read: ReadApp) {
    let section = read.section
    guard !section.has("write_key"), !section.has("write_key_file") else { return }
    if read.app.isDefault {
      section.fault(
        "default", "an app for requests without a key needs a write_key (or write_key_file) to send them with")
    } else if read.app.acceptKeys.count > 1 {
      section.fault(
        "accept_keys",
        "there are several, and no write_key: which one the upstream gets would be left open; add write_key")
    } else if read.app.acceptKeys.isEmpty, !section.has("accept_keys") {
      section.warn("name", "the app has neither a write_key nor accept_keys, so that no request ever belongs to it")
    }
  }

  /// Pages that have something else than the write key must find it among the accepted ones.
  private static func checkPages(_ read: ReadApp) {
    guard let format = read.format, let name = format.pageKeyName, !read.app.origins.isEmpty,
      read.app.acceptKeys.isEmpty, !read.section.has("accept_keys")
    else { return }
    // (A write key of another form may be just that.)
    let isKey = read.app.writeKey.map { key in format.keyPrefixes.contains { key.revealed.hasPrefix($0) } } ?? true
    guard isKey else { return }
    read.section.warn(
      "origins",
      "pages present their \(name), not the write_key, and no accept_keys are there: each of their batches is refused; list "
        + "their \(name) under accept_keys")
  }

  private static func checkNames(_ apps: [ReadApp]) {
    var lines: [String: Int] = [:]
    for read in apps where !read.app.name.isEmpty {
      let line = read.section.line(of: "name")
      if let first = lines[read.app.name] {
        read.section.fault(
          "name",
          "\(read.section.findings.quoting.quote(read.app.name)) is the name of the app on line \(first) too; each needs its own"
        )
      } else {
        lines[read.app.name] = line
      }
    }
  }

  /// A request without a key belongs to the default app of the protocol that it came by.
  private static func checkDefault(_ apps: [ReadApp]) {
    var lines: [String: Int] = [:]
    for read in apps where read.app.isDefault {
      guard let format = read.format else { continue }
      if let first = lines[format.name] {
        read.section.fault(
          "default", "an app is the default of \(format.name) already, on line \(first); one at most can be")
      } else {
        lines[format.name] = read.section.line(of: "default")
      }
    }
  }

  /// A key belongs to one app, or requests with it would belong to two.
  private static func checkKeys(_ apps: [ReadApp]) {
    var owners: [Secret: (app: Int, line: Int)] = [:]
    func claim(_ key: Secret, _ app: Int, _ line: Int, _ path: String, _ section: Section) {
      guard let owner = owners[key] else { return owners[key] = (app, line) }
      if owner.app == app {
        section.findings.warn(line: line, key: path, "the same key stands on line \(owner.line) already")
      } else {
        section.findings.fault(
          line: line, key: path, "another app has the same key, on line \(owner.line); a key belongs to one app")
      }
    }
    for (index, read) in apps.enumerated() {
      if let key = read.app.writeKey {
        let name = read.section.has("write_key") ? "write_key" : "write_key_file"
        claim(key, index, read.section.line(of: name), read.section.child(name), read.section)
      }
      for (key, line) in zip(read.app.acceptKeys, read.acceptLines) {
        claim(key, index, line, read.section.child("accept_keys"), read.section)
      }
    }
  }
}
