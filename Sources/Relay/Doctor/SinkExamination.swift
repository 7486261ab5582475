import Archive
import Configuration
import EventLog
import JSON
import Records
import Sinks

/// Looks at what sinks have written: archives against their manifests and the books, line files against their marks.
struct SinkExamination {
  let configuration: RelayConfiguration
  let view: LogView
  let books: [String: DestinationView.Books]
  /// Every byte of the archives, too.
  let isDeep: Bool

  func checks() -> [DoctorCheck] {
    configuration.sinks.flatMap { sink -> [DoctorCheck] in
      guard let destination = view.destinations.first(where: { $0.name == sink.name }) else { return [] }
      if let options = sink.options as? ArchiveOptions { return [archive(options.directory, destination)] }
      let marks = Self.marks(in: destination.attachment)
      return marks.isEmpty ? [] : [lineFiles(marks, sink.name)]
    }
  }

  // MARK: Line files

  /// Every file that a destination's record marks, dead letters left out.
  static func marks(in json: JSONValue?) -> [FileMark] {
    guard let json else { return [] }
    if let mark = FileMark(json) { return [mark] }
    if let list = json.array { return list.flatMap { marks(in: $0) } }
    return (json.members ?? []).flatMap { $0.key == "dead_letters" ? [] : marks(in: $0.value) }
  }

  private func lineFiles(_ marks: [FileMark], _ sink: String) -> DoctorCheck {
    let name = "files \(sink)"
    var moved = 0
    for mark in marks {
      do {
        switch try mark.look() {
        case .whole: break
        case .moved: moved += 1
        case .shortened(let length):
          return .wrong(
            name,
            "\(mark.path) has \(length) bytes, and \(mark.length) were written and counted as delivered: it was cut",
            "put the file back from a copy, or replay the log or an archive to the sink")
        case .changed:
          return .wrong(
            name, "\(mark.path) ends otherwise than it was written",
            "put the file back from a copy; nothing but the relay "
              + "may write it")
        }
      } catch {
        return .wrong(name, "\(error)", "let the relay's user read the sink's files")
      }
    }
    let gone = moved > 0 ? "; \(moved) were moved or removed by somebody since" : ""
    return .ok(name, "\(marks.count) open files hold all that is counted as delivered\(gone)")
  }

  // MARK: Archives

  private func archive(_ directory: String, _ destination: DestinationView) -> DoctorCheck {
    let name = "archive \(destination.name)"
    let memory: ArchiveMemory?
    do {
      memory = try ArchiveMemory.read(destination.attachment)
    } catch {
      return .wrong(name, "\(error)", "restore the position file of the sink")
    }
    guard memory != nil || hasManifest(directory) else { return .ok(name, "nothing was archived yet") }
    do throws(ArchiveError) {
      let glance = try ArchiveGlance.look(directory, noted: memory?.head.hash)
      if let fault = fault(glance, memory, destination) { return .wrong(name, fault, Self.remedy(directory)) }
      guard isDeep else {
        return .ok(
          name,
          "\(glance.entries) lines of the manifest, \(glance.files) files with the lengths it says; --deep reads them")
      }
      let report = try ArchiveVerification.verify(directory, noted: memory?.head.hash)
      if let fault = report.faults.first { return .wrong(name, fault.description, Self.remedy(directory)) }
      return .ok(name, "\(report.entries) lines of the manifest, every byte of \(report.checkedFiles) files")
    } catch {
      return .wrong(name, "\(error)", Self.remedy(directory))
    }
  }

  private func fault(_ glance: ArchiveGlance, _ memory: ArchiveMemory?, _ destination: DestinationView) -> String? {
    if let fault = glance.faults.first { return fault.description }
    guard glance.hasHead else {
      return "manifest.ndjson has no line with the hash that the sink's position noted: it was cut, or written anew"
    }
    // One that goes on after another that was taken away has only a part of what was delivered.
    guard let memory, memory.head.archive == glance.begin.archive, glance.begin.continues == nil else { return nil }
    var events = glance.events
    // The open file, unless it was published since.
    if let part = memory.part, part.first > glance.lastSequence ?? 0 { events += part.count }
    let delivered = Int(clamping: books[destination.name]?.ledger.settled[.delivered] ?? 0)
    guard events < delivered else { return nil }
    return "it has \(events) events, and \(delivered) are counted as delivered to it"
  }

  private func hasManifest(_ directory: String) -> Bool {
    ((try? FileSystem.system.facts(of: "\(directory)/manifest.ndjson")) ?? nil) != nil
  }

  private static func remedy(_ directory: String) -> String {
    "put the files back from a copy; event-relay archive verify \(directory) checks every byte"
  }
}
