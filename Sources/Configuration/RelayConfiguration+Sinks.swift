extension RelayConfiguration {
  static let sinksMax = 64
  /// Types that the contract names and this version doesn't bring yet.
  private static let laterTypes: Set<String> = ["archive", "webhook"]

  static func readSinks(_ root: Section, dataDirectory: String) -> [Sink] {
    var sinks: [Sink] = []
    var names: [String: Int] = [:]
    var paths: [String: Int] = [:]
    for section in root.sections("sinks", max: sinksMax) {
      guard let sink = readSink(section) else { continue }
      if let first = names[sink.name] {
        section.fault(
          "name", "\(Quoting.quote(sink.name)) is the name of the sink on line \(first) too; each needs its own")
      }
      if let first = paths[sink.path], !sink.path.isEmpty {
        section.fault("path", "the sink on line \(first) writes to the same path; each needs its own")
      }
      if sink.path.hasPrefix("\(dataDirectory)/dead-letters/") {
        section.fault("path", "lies in the relay's own directory for dead letters; choose another")
      }
      if !sink.name.isEmpty, names[sink.name] == nil { names[sink.name] = section.line(of: "name") }
      if paths[sink.path] == nil { paths[sink.path] = section.line(of: "path") }
      sinks.append(sink)
    }
    return sinks
  }

  /// A sink, perhaps with faults; nil when its type is unknown or to come, so that its keys can't be judged.
  private static func readSink(_ section: Section) -> Sink? {
    let nameFormat = ScalarFormat.name(taken: ["upstream": "the destination of the upstream is called so"])
    if !section.has("name") { section.fault("name", "is missing; every sink needs \(nameFormat.noun)") }
    let name = section.value("name", nameFormat) ?? ""
    guard section.has("type") else {
      section.fault("type", "is missing; it should be ndjson")
      return nil
    }
    let type = section.value("type", .sinkType(later: laterTypes))
    guard let type else { return nil }
    let directory = section.findings.directory
    if !section.has("path") {
      section.fault("path", "is missing; it should be \(ScalarFormat.pathPattern(relativeTo: directory).noun)")
    }
    let path = section.value("path", .pathPattern(relativeTo: directory)) ?? ""
    var sink = Sink(name: name, type: type, path: path)
    sink.rotate.read(section.section("rotate"))
    section.readOptional("retention", into: &sink.retention, .duration(.minutes(1) ... .days(36_500)))
    section.later("max_behind", "sample", "only")
    section.finish()
    return sink
  }
}

extension RelayConfiguration.Rotate {
  mutating func read(_ section: Section) {
    section.read("size", into: &size, .size(1 << 10...1 << 40))
    section.read("every", into: &every, .duration(.seconds(1) ... .days(31)))
    section.finish()
  }
}

extension ScalarFormat where Value == RelayConfiguration.Sink.Kind {
  /// A sink's type; those of later versions are known for what they are.
  static func sinkType(later: Set<String>) -> ScalarFormat {
    let known = ScalarFormat.word
    return ScalarFormat(noun: known.noun) { text throws(Misfit) in
      if later.contains(text) { throw Misfit("comes with a later version of event-relay") }
      return try known.parse(text)
    }
  }
}
