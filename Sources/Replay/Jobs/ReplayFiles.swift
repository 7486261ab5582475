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
  func read(_ id: String, of destination: String) throws(ReplayError) -> ReplayRecord? {
    do throws(FileError) {
      guard let bytes = try system.readWhole("\(jobs(of: destination))/\(id).json", limit: 256 << 20) else {
        return nil
      }
      return (try? JSONValue(parsing: bytes)).flatMap(ReplayRecord.init)
    } catch {
      throw ReplayError(.failed, "the replay's record can't be read: \(error)")
    }
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
