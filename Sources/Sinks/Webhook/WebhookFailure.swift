import EventLog
import Records

/// Why a webhook can't go on by something of the relay's own, in words for its operator.
enum WebhookFailure: Error, CustomStringConvertible {
  case log(LogError)
  case deadLetters(FileError)
  case record(WebhookRecordError)

  var description: String {
    switch self {
    case .log(let error): "\(error)"
    case .deadLetters(let error): "Dead letters can't be written: \(error)"
    case .record(let error): "\(error)"
    }
  }
}
