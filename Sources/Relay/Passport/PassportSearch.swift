import Archive
import Clocks
import Configuration
import DeadLetters
import Dialects
import EventLog
import JSON
import Records
import Sinks

/// Puts one event's whole story together: from the log, the positions, the dead letters and the archives.
///
/// Works on a running relay and on files alone, and changes nothing. Bounded in time: what there was no time for is said.
/// Blocks on the disk.
public struct PassportSearch {
  let configuration: RelayConfiguration
  let dataDirectory: String
  /// Asked for when the search begins.
  let view: () throws(LogError) -> LogView

  init(
    _ configuration: RelayConfiguration, dataDirectory: String, view: @escaping () throws(LogError) -> LogView
  ) {
    self.configuration = configuration
    self.dataDirectory = dataDirectory
    self.view = view
  }

  /// Of the files of a relay that doesn't run.
  ///
  /// - Returns: nil when there are none.
  public static func offline(
    _ configuration: RelayConfiguration, id: String, timeout: Duration
  ) throws -> JSONValue? {
    let directory = configuration.dataDirectory
    guard ((try? FileSystem.system.facts(of: "\(directory)/log")) ?? nil) != nil else { return nil }
    let search = PassportSearch(configuration, dataDirectory: directory) { () throws(LogError) in
      try LogView.read(directory)
    }
    return try search.run(id, until: .now + timeout)
  }

  /// - Parameter id: an event's, as it was sent; a UUID in any case.
  /// - Throws: when the log or the dead letters can't be read.
  func run(_ id: String, until deadline: ContinuousClock.Instant) throws -> JSONValue {
    guard let sought = SoughtID(id) else { throw PassportError.noID }
    let view = try view()
    var search = EventSearch(high: sought.high, low: sought.low, deadline: deadline)
    search.run(view)
    let hits = search.hits.filter { hit in
      hit.bytes.withUnsafeBytes { sought.isID(ofEvent: $0, dialect: hit.event.dialect) }
    }
    let letters = try DeadLetterReader(directory: "\(dataDirectory)/dead-letters").find(sought, until: deadline)
    var copies = PassportCopies()
    copies.add(hits, letters.letters)
    var archives: [JSONValue] = []
    var left = PassportBounds(log: search.extent, letters: letters.extent)
    for sink in configuration.sinks {
      guard let options = sink.options as? ArchiveOptions else { continue }
      archives.append(try lookInto(options.directory, sink.name, sought, deadline, &copies, &left))
    }
    let judge = DestinationStory(
      view: view, configuration: configuration, removed: DeadLetterRemovals.counts("\(dataDirectory)/dead-letters"))
    return [
      "event_id": .string(sought.text), "found": .bool(!copies.all.isEmpty),
      "copies": .array(copies.all.map { Self.json($0, judge) }),
      "looked_at": left.json(archives), "not_looked_at": .array(left.sentences.map(JSONValue.string)),
    ]
  }

  private func lookInto(
    _ directory: String, _ sink: String, _ id: SoughtID, _ deadline: ContinuousClock.Instant,
    _ copies: inout PassportCopies, _ left: inout PassportBounds
  ) throws -> JSONValue {
    var members: [JSONValue.Member] = [.init("sink", .string(sink)), .init("directory", .string(directory))]
    do throws(ArchiveError) {
      var search = try ArchiveSearch(directory, id, until: deadline)
      try search.run(known: copies.all.map(\.sequence))
      copies.add(search.records, of: sink)
      left.archivesLeft += search.extent.filesLeft
      members.append(.init("files", JSONValue(search.extent.files)))
      members.append(.init("files_left", JSONValue(search.extent.filesLeft)))
    } catch {
      switch error {
      case .noDirectory, .noManifest(_, hasFiles: false): members.append(.init("files", 0))
      default:
        left.failures.append("the archive \(directory) of sink \(sink): \(error)")
        members.append(.init("error", .string("\(error)")))
      }
    }
    return .object(members)
  }

  private static func json(_ copy: EventCopy, _ judge: DestinationStory) -> JSONValue {
    [
      "seq": JSONValue(copy.sequence), "app": .string(copy.app), "kind": .string(copy.kind),
      "protocol": .string(copy.protocolName), "received_at": .string(copy.receivedAt),
      "clamped": copy.isClamped.map { .bool($0) } ?? .null,
      "log": copy.hit.map { ["segment": .string($0.segment), "offset": JSONValue($0.offset)] } ?? .null,
      "destinations": .array(judge.states(of: copy).map(\.json)),
      "replays": .array(
        copy.replays.map {
          ["destination": .string($0.destination), "state": .string($0.waits ? "waiting" : "settled")]
        }),
    ]
  }
}
