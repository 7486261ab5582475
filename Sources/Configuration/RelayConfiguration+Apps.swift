extension RelayConfiguration {
  static let appsMax = 1000
  static let acceptKeysMax = 100
  /// Bytes of a key file.
  static let keyFileBytesMax = 4096

  /// An app with the places of what must be unique.
  private struct ReadApp {
    var app: App
    var section: Section
    var acceptLines: [Int] = []
  }

  static func readApps(_ root: Section) -> [App] {
    let read = root.sections("apps", max: appsMax).map(readApp)
    checkNames(read)
    checkDefault(read)
    checkKeys(read)
    return read.map(\.app)
  }

  private static func readApp(_ section: Section) -> ReadApp {
    let format = ScalarFormat.name(
      prefixTaken: "key-", taken: ["other": "the metrics call the keys of no app so"])
    if !section.has("name") { section.fault("name", "is missing; every app needs \(format.noun)") }
    var read = ReadApp(app: App(name: section.value("name", format) ?? ""), section: section)
    read.app.writeKey = readWriteKey(section)
    if let keys = section.list("accept_keys", max: acceptKeysMax, .secret("a key")) {
      read.app.acceptKeys = keys.map(\.value)
      read.acceptLines = keys.map(\.line)
    }
    section.read("default", into: &read.app.isDefault, .boolean)
    section.later("protocol", "upstream")
    section.finish()
    checkReach(read)
    return read
  }

  private static func readWriteKey(_ section: Section) -> Secret? {
    let key = section.value("write_key", .secret("a write key"))
    let file = section.value("write_key_file", .path(relativeTo: section.findings.directory))
    if section.has("write_key"), section.has("write_key_file") {
      section.fault("write_key_file", "stands beside write_key; an app has one of them: remove the other")
      return key
    }
    guard let value = key ?? file.flatMap({ readKeyFile($0, section) }) else { return nil }
    if !value.revealed.hasPrefix("aso_wk_") {
      section.warn(
        section.has("write_key") ? "write_key" : "write_key_file",
        "the key does not begin with aso_wk_, as the upstream's keys do; is it the right one?")
    }
    return value
  }

  private static func readKeyFile(_ path: String, _ section: Section) -> Secret? {
    section.findings.reads(path)
    switch FileText.read(path, bytesMax: keyFileBytesMax) {
    case .failure(let fault):
      section.fault("write_key_file", "\(Quoting.quote(path)): \(fault.message)")
    case .success(let bytes):
      let format = ScalarFormat.secret("a write key")
      do {
        return try format.parse(String(String(decoding: bytes, as: UTF8.self).trimmingSpaces))
      } catch {
        section.fault(
          "write_key_file", "the key in \(Quoting.quote(path)) \(error.problem); the file should hold \(format.noun)")
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

  private static func checkNames(_ apps: [ReadApp]) {
    var lines: [String: Int] = [:]
    for read in apps where !read.app.name.isEmpty {
      let line = read.section.line(of: "name")
      if let first = lines[read.app.name] {
        read.section.fault(
          "name", "\(Quoting.quote(read.app.name)) is the name of the app on line \(first) too; each needs its own")
      } else {
        lines[read.app.name] = line
      }
    }
  }

  private static func checkDefault(_ apps: [ReadApp]) {
    let marked = apps.filter(\.app.isDefault)
    for read in marked.dropFirst() {
      read.section.fault(
        "default", "an app is the default already, on line \(marked[0].section.line(of: "default")); one at most can be"
      )
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
