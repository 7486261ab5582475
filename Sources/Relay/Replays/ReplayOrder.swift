import Clocks
import DeadLetters
import EventsAPI
import JSON
import Replay

/// What somebody wants of past events, as the admin listener and the commands are told.
enum ReplayOrder: Sendable {
  case replay(ReplayRequest, isDryRun: Bool)
  /// The template is everything but the destination.
  case letters(DeadLetterFilter, template: ReplayRequest, writeKey: String?, isDryRun: Bool)
  case drop(DeadLetterFilter)

  private static let replayKeys: Set<String> = [
    "to", "from_log", "from_archive", "since", "until", "since_text", "until_text", "names", "apps", "rate", "dry_run",
  ]
  private static let filterKeys: Set<String> = ["destination", "app", "code", "since", "until"]
  private static let letterKeys = filterKeys.union(["since_text", "until_text", "write_key", "rate", "dry_run"])
  private static let dropKeys = filterKeys.union(["all"])

  /// `{"to":"raw","from_log":true,…}`
  static func replay(_ body: JSONValue) throws(APIError) -> ReplayOrder {
    try check(body, replayKeys)
    guard let destination = body["to"]?.string else { throw invalid("to must name the destination.") }
    let source: ReplayRequest.Source
    switch (body["from_log"]?.bool ?? false, body["from_archive"]?.string) {
    case (true, nil): source = .log
    case (false, let directory?):
      guard directory.hasPrefix("/") else { throw invalid("from_archive must be an absolute path.") }
      source = .archive(directory)
    default: throw invalid("Either from_log must be true, or from_archive an archive's directory.")
    }
    var request = ReplayRequest(destination: destination, source: source)
    request.apps = try texts("apps", of: body)
    request.names = try texts("names", of: body)
    try readCommon(body, into: &request)
    return .replay(request, isDryRun: body["dry_run"]?.bool ?? false)
  }

  /// `{"destination":"upstream","code":"invalid_write_key",…}`: what is left out doesn't matter.
  static func letters(_ body: JSONValue) throws(APIError) -> ReplayOrder {
    try check(body, letterKeys)
    let filter = try filter(body)
    var template = ReplayRequest(destination: "", source: .deadLetters)
    template.apps = filter.app.map { [$0] } ?? []
    template.code = filter.code
    try readCommon(body, into: &template)
    return .letters(
      filter, template: template, writeKey: body["write_key"]?.string, isDryRun: body["dry_run"]?.bool ?? false)
  }

  /// The same filters; without any, `"all":true` says that all are meant.
  static func drop(_ body: JSONValue) throws(APIError) -> ReplayOrder {
    try check(body, dropKeys)
    let filter = try filter(body)
    guard filter != DeadLetterFilter() || body["all"]?.bool == true else {
      throw invalid("Say which dead letters are to be dropped, or \"all\":true.")
    }
    return .drop(filter)
  }

  private static func filter(_ body: JSONValue) throws(APIError) -> DeadLetterFilter {
    DeadLetterFilter(
      destination: body["destination"]?.string, app: body["app"]?.string, code: body["code"]?.string,
      since: try moment("since", of: body), until: try moment("until", of: body))
  }

  private static func readCommon(_ body: JSONValue, into request: inout ReplayRequest) throws(APIError) {
    request.since = try moment("since", of: body)
    request.until = try moment("until", of: body)
    request.sinceText = body["since_text"]?.string
    request.untilText = body["until_text"]?.string
    guard let rate = body["rate"], !rate.isNull else { return }
    guard let number: Int = rate.integer() else { throw invalid("rate must be a whole number of events a second.") }
    request.rate = number
  }

  private static func check(_ body: JSONValue, _ known: Set<String>) throws(APIError) {
    guard let members = body.members else { throw APIError.invalidBody("The body must be a JSON object.") }
    if let other = members.first(where: { !known.contains($0.key) }) {
      throw invalid("There is no \"\(other.key.prefix(40))\"; known are \(known.sorted().joined(separator: ", ")).")
    }
  }

  private static func moment(_ key: String, of body: JSONValue) throws(APIError) -> Timestamp? {
    guard let value = body[key], !value.isNull else { return nil }
    guard let moment = value.string.flatMap({ text in Array(text.utf8).withUnsafeBytes { OccurredAt.parse($0) } })
    else { throw invalid("\(key) must be a time such as 2026-10-23T12:00:00Z.") }
    return moment
  }

  private static func texts(_ key: String, of body: JSONValue) throws(APIError) -> [String] {
    guard let value = body[key], !value.isNull else { return [] }
    guard let list = value.array else { throw invalid("\(key) must be a list of strings.") }
    let texts = list.compactMap(\.string)
    guard texts.count == list.count else { throw invalid("\(key) must be a list of strings.") }
    return texts.sorted()
  }

  private static func invalid(_ message: String) -> APIError {
    APIError(status: 400, code: "invalid_request", message: message)
  }
}
