import EventLog
import Records

/// One file of lines, open or closed, and how much of it is settled.
///
/// Lines behind what is settled go when something fails, and are written again. Not thread-safe.
final class LineFile {
  /// Nil while it is closed: an app that is silent needs no descriptor.
  private(set) var open: RecordFile?
  /// How far it is synced.
  private var synced: FileMark
  /// How far its lines are acknowledged.
  private(set) var settled: FileMark

  init(_ file: RecordFile) {
    open = file
    synced = file.mark
    settled = file.mark
  }

  /// A closed one.
  init(_ mark: FileMark) {
    synced = mark
    settled = mark
  }

  var path: String { synced.path }
  /// Bytes, synced or not.
  var length: Int { open?.length ?? synced.length }
  var unsyncedBytes: Int { open?.unsyncedBytes ?? 0 }
  /// It holds lines that are not acknowledged.
  var isDirty: Bool { length > settled.length }
  /// A sync failed: nothing more goes into it.
  var isFailed: Bool { open?.isFailed ?? false }

  func sync() throws(FileError) {
    guard let open else { return }
    try open.sync()
    synced = open.mark
  }

  /// Syncs it, and lets go of its descriptor.
  func close() throws(FileError) {
    try sync()
    open = nil
  }

  /// Everything that is synced is acknowledged.
  func settle() { settled = synced }

  /// What has become of it under its name.
  ///
  /// One that is closed is told by its mark; when somebody appended to it, that is cut off.
  func look(on system: FileSystem) throws(FileError) -> RecordFile.Place {
    if let open { return try open.look() }
    switch try RecordFile.reopen(synced, on: system) {
    case .continued: return .unchanged
    case .renamed: return .renamed
    case .changed: return .shortened
    case .missing: return .deleted
    }
  }

  /// Opens it again; false when it isn't there any more as it was.
  func reopen(on system: FileSystem) throws(FileError) -> Bool {
    guard open == nil else { return true }
    guard case .continued(let file, _) = try RecordFile.reopen(synced, on: system) else { return false }
    open = file
    return true
  }

  /// Takes back what isn't settled.
  /// - Returns: what had become of it under its name.
  func rollBack(on system: FileSystem) throws(FileError) -> RecordFile.Place {
    if let open {
      let place = try open.look()
      if place != .deleted, place != .shortened { try open.rollBack(to: settled) }
      synced = open.mark
      return place
    }
    synced = settled
    return try look(on: system)
  }
}
