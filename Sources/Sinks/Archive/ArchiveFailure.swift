import Archive
import EventLog

/// Why an archive's sink can't go on, in words for its operator.
enum ArchiveFailure: Error, CustomStringConvertible {
  case archive(ArchiveError)
  case log(LogError)
  case position(ArchiveMemory.Unreadable)
  case diskLow
  /// The archive's files aren't what they were. No failure, but a reason to open them anew, and to read again what wasn't
  /// acknowledged.
  case left

  var description: String {
    switch self {
    case .archive(let error): "\(error); its events wait in the log, and it is tried again"
    case .log(let error): "\(error)"
    case .position(let error): "\(error)"
    case .diskLow:
      "less space is left on the disk than log.min_free_disk: free some; its events wait in the log, and it is tried again"
    case .left: "the archive was moved or changed by somebody else"
    }
  }
}
