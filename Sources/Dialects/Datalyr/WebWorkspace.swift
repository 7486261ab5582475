import EventsAPI
import Glibc

/// Whose a web batch is: what all of its events have as `workspace_id`.
struct WebWorkspace {
  private(set) var key = BodyKey.unknown
  /// Why the batch can't be of one app.
  private(set) var fault: APIError?

  /// - Parameter max: events that are looked at.
  init(_ fields: Fields, max: Int) {
    var first: (index: Int, field: JSONField)?
    for index in 0..<min(fields.count, max) {
      guard fields[index].isObject else {
        fault = .invalidEvent("\"events[\(index)]\" must be an object.")
        return
      }
      let field = fields[index][DatalyrForm.Member.workspace.rawValue]
      guard field.isString || field.isAbsent || field.isNull else {
        fault = .invalidEvent("\"events[\(index)].workspace_id\" must be a string.")
        return
      }
      guard let known = first else {
        first = (index, field)
        continue
      }
      guard Self.isSame(known.field, field) else {
        fault = .invalidEvent(
          "\"events[\(index)].workspace_id\" must be the same as \"events[\(known.index)].workspace_id\": a batch is of one "
            + "workspace.")
        return
      }
    }
    key = first?.field.text.map { $0.isEmpty ? .missing : .key($0) } ?? .missing
  }

  private static func isSame(_ one: JSONField, _ other: JSONField) -> Bool {
    guard one.isString, other.isString else { return one.isString == other.isString }
    return one.withBytes { one in
      other.withBytes { other in
        guard let one, let other, one.count == other.count else { return false }
        return one.isEmpty || memcmp(one.baseAddress!, other.baseAddress!, one.count) == 0
      }
    }
  }
}
