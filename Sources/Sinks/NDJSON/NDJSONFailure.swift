import EventLog
import Records

/// Why a sink of line files can't go on, in words for its operator.
enum NDJSONFailure: Error, CustomStringConvertible {
  case file(FileError)
  case log(LogError)
  case position(LinePositionError)
  case diskLow
  /// The file is not what it was: lines that are not acknowledged went with it. No failure, but a reason to read them again.
  case left(RecordFile.Place)

  var description: String {
    switch self {
    case .file(let error): "\(error); its events wait in the log, and it is tried again"
    case .log(let error): "\(error)"
    case .position(let error): "\(error)"
    case .diskLow:
      "less space is left on the disk than log.min_free_disk: free some; its events wait in the log, and it is tried again"
    case .left: "the file was removed or cut by somebody else"
    }
  }
}
