import JSON

/// One thing that was looked at, and whether it is as it should be.
public struct DoctorCheck: Sendable, Equatable {
  public var name: String
  public var isOK: Bool
  /// What was found, in a sentence or a few words.
  public var detail: String
  /// What to do about it; nil when nothing is wrong.
  public var remedy: String?

  static func ok(_ name: String, _ detail: String) -> DoctorCheck {
    DoctorCheck(name: name, isOK: true, detail: detail)
  }

  static func wrong(_ name: String, _ detail: String, _ remedy: String) -> DoctorCheck {
    DoctorCheck(name: name, isOK: false, detail: detail, remedy: remedy)
  }

  var json: JSONValue {
    [
      "name": .string(name), "ok": .bool(isOK), "detail": .string(detail), "remedy": JSONValue(remedy),
    ]
  }
}
