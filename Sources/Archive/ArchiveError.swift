import Records

/// Why an archive can't be read or written, in words for its operator.
public enum ArchiveError: Error, Sendable, Equatable, CustomStringConvertible {
  case file(FileError)
  /// There is no such directory.
  case noDirectory(String)
  /// The directory has no manifest; `hasFiles` when it has files that an archive's manifest should name.
  case noManifest(String, hasFiles: Bool)
  /// The manifest isn't what was written.
  case manifest(path: String, ManifestFault)
  /// The directory is the archive of another relay.
  case foreign(path: String, relay: String)
  /// The manifest ends before what was published, or is another than the one that was written.
  case cut(path: String, entries: Int, known: Int, head: Digest)
  /// A file isn't what the manifest says. The detail is the end of a sentence that begins with the file's path.
  case damaged(path: String, detail: String)

  public var description: String {
    switch self {
    case .file(let error): error.description
    case .noDirectory(let path): "there is no directory \(path)"
    case .noManifest(let path, hasFiles: false):
      "\(path) is no archive: it has no \(ArchiveFileName.manifest)"
    case .noManifest(let path, hasFiles: true):
      "\(path) has files of an archive, and no \(ArchiveFileName.manifest) that names them: put the manifest back, "
        + "or move the files away"
    case .manifest(let path, let fault):
      "\(path), line \(fault.line): \(fault.detail); put back what was written, or move the directory away"
    case .foreign(let path, let relay):
      "\(path) is the archive of another relay, \(relay): choose another path, or move that archive away"
    case .cut(let path, let entries, let known, let head):
      "\(path) has \(entries) entries, and is not the one that this sink wrote: entry \(known) had the hash \(head); "
        + "put the whole manifest back, or move the directory away, and a new archive is begun that says what it continues"
    case .damaged(let path, let detail): "\(path) \(detail)"
    }
  }
}

extension ArchiveError {
  /// Lets a body's file error be one of the archive.
  static func wrapping<Value>(_ body: () throws(FileError) -> Value) throws(ArchiveError) -> Value {
    do throws(FileError) {
      return try body()
    } catch {
      throw .file(error)
    }
  }
}
