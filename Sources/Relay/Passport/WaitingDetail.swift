import JSON

/// What a destination's own record says of the tries that a waiting event had.
enum WaitingDetail {
  /// The number of tries where it is known to be this event's, and a sentence about its lane.
  static func of(_ copy: EventCopy, _ attachment: JSONValue?) -> (attempts: Int?, detail: String?) {
    let lanes = attachment?["lanes"]?.array ?? []
    let lane = lanes.first { $0["app"]?.string == copy.app && $0["replayed"]?.bool != true }
    if let lane {
      let tries: Int = lane["attempts"]?.integer() ?? 0
      return (nil, sentence("app \(copy.app)", lane, "its oldest events were sent \(tries) times"))
    }
    guard let batch = attachment?["batch"], let first: UInt64 = batch["first"]?.integer(),
      let last: UInt64 = batch["last"]?.integer(), batch["replayed"]?.bool != true,
      (first...max(first, last)).contains(copy.sequence), let trying = attachment?["trying"], !trying.isNull
    else { return (nil, nil) }
    let tries: Int? = trying["attempts"]?.integer()
    return (tries, sentence("its batch", trying, "it was sent \(tries ?? 0) times"))
  }

  private static func sentence(_ what: String, _ record: JSONValue, _ tries: String) -> String {
    let state = record["state"]?.string ?? "waiting"
    let why = record["detail"]?.string.map { $0.isEmpty ? "" : ": \($0)" } ?? ""
    return "\(what) is \(state)\(why); \(tries)"
  }
}
