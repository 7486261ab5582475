extension RelayConfiguration {
  static let sinksMax = 64
  /// What the relay keeps for itself under `data_dir`.
  private static let ownDirectories = ["dead-letters", "dedupe", "keys", "log", "positions", "replays", "stand-in"]

  static func readSinks(_ root: Section, _ types: [any SinkFormat], dataDirectory: String) -> [Sink] {
    var sinks: [Sink] = []
    var names: [String: Int] = [:]
    var paths: [(path: String, line: Int)] = []
    for section in root.sections("sinks", max: sinksMax) {
      guard let sink = readSink(section, types) else { continue }
      if let first = names[sink.name] {
        section.fault(
          "name",
          "\(root.findings.quoting.quote(sink.name)) is the name of the sink on line \(first) too; each needs its own")
      }
      if !sink.name.isEmpty, names[sink.name] == nil { names[sink.name] = section.line(of: "name") }
      if let path = sink.options.path, !path.isEmpty {
        if let first = paths.first(where: { collide($0.path, path) }) {
          section.fault("path", "the sink on line \(first.line) writes to the same path; each needs its own")
        }
        if let own = ownDirectories.first(where: { path.hasPrefix("\(dataDirectory)/\($0)/") }) {
          section.fault("path", "lies in data_dir/\(own), which is the relay's own; choose another directory")
        }
        if path.hasSuffix("/"), "\(dataDirectory)/".hasPrefix(path) {
          section.fault("path", "holds data_dir; it should be a directory of its own")
        }
        paths.append((path, section.line(of: "path")))
      }
      sinks.append(sink)
    }
    return sinks
  }

  /// Whether two sinks' paths are one, or one lies in the other's directory.
  private static func collide(_ one: String, _ other: String) -> Bool {
    one == other || (one.hasSuffix("/") && other.hasPrefix(one)) || (other.hasSuffix("/") && one.hasPrefix(other))
  }

  /// A sink, perhaps with faults; nil when its type is unknown, so that its keys can't be judged.
  private static func readSink(_ section: Section, _ types: [any SinkFormat]) -> Sink? {
    let nameFormat = ScalarFormat.name(taken: [
      "upstream": "the destination of the upstream is called so",
      "dedupe": "the memory of event ids keeps its place in the log under it",
      "suppressed": "the ledger calls the events that deny lists keep out so",
    ])
    if !section.has("name") { section.fault("name", "is missing; every sink needs \(nameFormat.noun)") }
    let name = section.value("name", nameFormat) ?? ""
    let typeFormat = ScalarFormat<String>.word(of: types.map(\.name))
    guard section.has("type") else {
      section.fault("type", "is missing; it should be \(typeFormat.noun)")
      return nil
    }
    guard let word = section.value("type", typeFormat), let type = types.first(where: { $0.name == word }) else {
      return nil
    }
    var common = Sink.Common()
    common.read(section)
    let options = type.read(section)
    section.finish()
    var sink = Sink(name: name, type: type.name, common: common, options: options)
    let placeKey = options.path == nil ? "url" : "path"
    (sink.placeLine, sink.placeKey) = (section.line(of: placeKey), "\(section.path).\(placeKey)")
    return sink
  }
}

extension RelayConfiguration.Sink.Common {
  static let listMax = 1000

  mutating func read(_ section: Section) {
    section.readOptional("max_behind", into: &maxBehind, .size(64 << 10...1 << 50))
    section.read("sample", into: &sample, .percent())
    if sample == 0 { section.warn("sample", "is 0%: the sink gets nothing") }
    let only = section.section("only")
    let appFormat = ScalarFormat.name(taken: [:])
    apps = only.list("apps", max: Self.listMax, appFormat)?.map(\.value) ?? apps
    names = only.list("names", max: Self.listMax, .text("an event's name", lengthMax: 512))?.map(\.value) ?? names
    kinds = only.list("kinds", max: 2, .word)?.map(\.value) ?? kinds
    if !names.isEmpty, kinds == [.identify] {
      only.fault("names", "identify calls have no name, so that nothing would be left; remove names, or kinds")
    }
    only.finish()
  }
}

extension ScalarFormat where Value == String {
  /// One of some words that are known only when the program runs.
  static func word(of words: [String]) -> ScalarFormat {
    ScalarFormat(noun: words.joined(separator: " or ")) { text throws(Misfit) in
      guard !words.contains(text) else { return text }
      throw Misfit("is not known", hint: Spelling.nearest(to: text, among: words))
    }
  }
}
