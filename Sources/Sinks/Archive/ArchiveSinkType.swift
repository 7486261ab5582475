import Configuration
import EventLog

/// `type: archive`: gzip files of lines in one directory, chained by a manifest that tells when anything was changed.
public struct ArchiveSinkType: SinkType {
  public let name = "archive"

  public init() {}

  public func options(from section: Section) -> ArchiveOptions {
    var options = ArchiveOptions(directory: "")
    let format = ScalarFormat<String>.archiveDirectory(relativeTo: section.directory)
    if !section.has("path") { section.fault("path", "is missing; it should be \(format.noun)") }
    section.read("path", into: &options.directory, format)
    options.rotation.read(section.section("rotate"))
    section.readOptional("retention", into: &options.retention, .retention)
    return options
  }

  public func make(_ options: ArchiveOptions, _ context: SinkContext) -> any Destination {
    ThreadedSink(
      name: context.name, type: name, subscription: context.subscription, logger: context.logger
    ) { _ in ArchiveWorker(options, context, system: context.files) }
  }
}

/// What a sink of an archive is told.
public struct ArchiveOptions: SinkOptions {
  /// Absolute.
  public var directory: String
  public var rotation = RotationOptions(size: 64 << 20, every: .seconds(3600))
  /// How long a file is kept after its last event; nil: for ever.
  public var retention: Duration? = .seconds(400 * 86_400)

  public init(directory: String) { self.directory = directory }

  public var place: String { directory }
  public var path: String? { directory.isEmpty ? nil : directory + "/" }
}

extension ScalarFormat where Value == String {
  /// The directory of an archive; a relative one is relative to `directory`.
  static func archiveDirectory(relativeTo directory: String) -> ScalarFormat {
    let path = ScalarFormat.path(relativeTo: directory)
    return ScalarFormat(noun: "a directory of its own, such as ./data/archive") { text throws(Misfit) in
      guard !text.contains("%") else {
        throw Misfit("holds a %: an archive is one directory, whose files bear the times in their names")
      }
      let absolute = try path.parse(text)
      guard absolute != "/" else { throw Misfit("is the root of the file system") }
      return absolute
    }
  }
}
