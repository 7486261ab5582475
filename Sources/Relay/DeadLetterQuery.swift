import Clocks
import DeadLetters
import EventsAPI
import JSON

/// `GET /dead-letters?destination=&app=&code=&since=&until=&all=&limit=`: which letters are asked for.
struct DeadLetterQuery: Sendable, Equatable {
  var filter = DeadLetterFilter()
  var limit = Self.limitMax

  static let limitMax = 1000

  /// Reads a query string; fails naming what is wrong with it.
  static func read(_ query: String?) -> Result<DeadLetterQuery, APIError> {
    var result = DeadLetterQuery()
    for parameter in (query ?? "").split(separator: "&") {
      let name = parameter.prefix { $0 != "=" }
      let value = unescaped(parameter.dropFirst(name.count).dropFirst())
      switch name {
      case "destination": result.filter.destination = value
      case "app": result.filter.app = value
      case "code": result.filter.code = value
      case "since", "until":
        guard let moment = Array(value.utf8).withUnsafeBytes({ OccurredAt.parse($0) }) else {
          return .failure(invalid("\(name) must be a time such as 2026-10-23T12:00:00Z."))
        }
        if name == "since" { result.filter.since = moment } else { result.filter.until = moment }
      case "all":
        guard value == "true" || value == "false" else { return .failure(invalid("all must be true or false.")) }
        result.filter.includesReplayed = value == "true"
      case "limit":
        guard let limit = Int(value), (1...limitMax).contains(limit) else {
          return .failure(invalid("limit must be a whole number from 1 to \(limitMax)."))
        }
        result.limit = limit
      default:
        return .failure(invalid("Known are destination, app, code, since, until, all and limit."))
      }
    }
    return .success(result)
  }

  private static func invalid(_ message: String) -> APIError {
    APIError(status: 400, code: "invalid_query", message: message)
  }

  /// `+` and `%XX` as forms have them; what is no such escape stays.
  private static func unescaped(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "+") {
        bytes.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension RelayFacts {
  /// The dead letters' own lines, the oldest first.
  func deadLetters(query: String?) -> Result<[UInt8], APIError> {
    DeadLetterQuery.read(query).flatMap { query in
      var lines: [UInt8] = []
      var left = query.limit
      do {
        try DeadLetterReader(directory: deadLettersDirectory).export(query.filter) { line in
          lines += line
          left -= 1
          return left > 0
        }
        return .success(lines)
      } catch {
        return .failure(.serverError("The dead letters cannot be read: \(error).", status: 500))
      }
    }
  }
}
