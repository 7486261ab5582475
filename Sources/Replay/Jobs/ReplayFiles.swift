import JSON
import Records

/// Where replays are kept: a record for each in `jobs` beside its destination's queue.
struct ReplayFiles: Sendable {
  /// Of finished replays, so many records are kept.
  static let keptMax = 100

  /// `data_dir/replays`
  let directory: String
  let system: FileSystem

  private func jobs(of destination: String) -> String { "\(directory)/\(destination)/jobs" }

  /// Nil when there is none, or none that can be read.
  ///
  /// - Throws: when the disk won't, or a newer program wrote it.
  func read(_ id: String, of destination: String) throws(ReplayError) -> ReplayRecord? {
    let path = "\(jobs(of: destination))/\(id).json"
    let bytes: [UInt8]?
    do throws(FileError) {
      bytes = try system.readWhole(path, limit: 256 << 20)
    } catch {
      throw ReplayError(.failed, "the replay's record can't be read: \(error)")
    }
    guard let json = bytes.flatMap({ try? JSONValue(parsing: $0) }) else { return nil }
    if let version: Int = json["version"]?.integer(), version > ReplayRecord.version {
      throw ReplayError(
        .failed,
        "\(path) has format version \(version), this program reads up to \(ReplayRecord.version): use the newer "
          + "event-relay that wrote it")
    }
    return ReplayRecord(json)
  }

  func write(_ record: ReplayRecord) throws(ReplayError) {
    do throws(FileError) {
      let directory = jobs(of: record.request.destination)
      try system.makeDirectories(directory)
      try system.replace("\(directory)/\(record.request.id).json", with: record.json.utf8 + [UInt8(ascii: "\n")])
    } catch {
      throw ReplayError(.failed, "the replay's record can't be written: \(error)")
    }
  }

  /// Lets go of the records of finished replays when there are many.
  func tidy(_ destination: String) {
    guard let names = try? system.list(jobs(of: destination)), names.count > Self.keptMax else { return }
    for name in names where name.hasSuffix(".json") {
      let id = String(name.dropLast(5))
      guard let record = try? read(id, of: destination), record.state == .done else { continue }
      try? system.remove("\(jobs(of: destination))/\(name)")
    }
  }
}
