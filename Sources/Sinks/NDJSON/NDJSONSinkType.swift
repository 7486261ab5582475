import Configuration
import EventLog

/// `type: ndjson`: files with a JSON object in each line.
public struct NDJSONSinkType: SinkType {
  public let name = "ndjson"

  public init() {}

  public func options(from section: Section) -> NDJSONOptions {
    var options = NDJSONOptions(pattern: PathPattern.none)
    let format = ScalarFormat<PathPattern>.pathPattern(relativeTo: section.directory)
    if !section.has("path") { section.fault("path", "is missing; it should be \(format.noun)") }
    section.read("path", into: &options.pattern, format)
    options.rotation.read(section.section("rotate"))
    section.readOptional("retention", into: &options.retention, .retention)
    return options
  }

  public func make(_ options: NDJSONOptions, _ context: SinkContext) -> any Destination {
    ThreadedSink(
      name: context.name, type: name, subscription: context.subscription, logger: context.logger
    ) { _ in NDJSONWorker(options, context, system: context.files) }
  }
}

/// What a sink of line files is told.
public struct NDJSONOptions: SinkOptions {
  public var pattern: PathPattern
  public var rotation = RotationOptions(size: 256 << 20, every: .seconds(3600))
  /// How long a file is kept after its time; nil: for ever.
  public var retention: Duration? = .seconds(400 * 86_400)

  public init(pattern: PathPattern) { self.pattern = pattern }

  public var place: String { pattern.text }
  public var path: String? { pattern.text }
}
