/// One of the two forms that the protocol has for an event: how its members are called.
struct DatalyrForm: Sendable {
  /// A member by what it means. Its raw value is its place among ``names``.
  enum Member: Int, CaseIterable {
    case name, id, anonymousID, userID, time, data, context, workspace
  }

  /// With a space between two; `-`, which no event is asked for, stands for a member that the form doesn't have.
  let names: String
  private let byMember: [String]

  private init(_ names: String) {
    self.names = names
    byMember = names.split(separator: " ").map(String.init)
    precondition(byMember.count == Member.allCases.count)
  }

  /// An event that comes alone, to `/track`.
  static let track = DatalyrForm("event eventId anonymousId userId timestamp properties context -")
  /// An event of the web SDK's batches.
  static let web = DatalyrForm("event_name event_id anonymous_id user_id timestamp event_data - workspace_id")

  func name(of member: Member) -> String { byMember[member.rawValue] }
  func has(_ member: Member) -> Bool { byMember[member.rawValue] != "-" }
}
