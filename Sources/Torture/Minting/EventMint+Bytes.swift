import Clocks

extension EventMint {
  /// The bytes of an event, or of an identify call's body.
  func bytes(_ number: Int) -> [UInt8] {
    switch kind(number) {
    case .identify:
      Array(#"{"anonymous_id":"\#(install(number))",  "user_id":"\#(user(number))"}"#.utf8)
    case .invalid: joined(broken(number), number)
    case .good, .unwanted: joined(members(number), number)
    }
  }

  /// The same as it stands in a line: a line break between two tokens is a space there.
  func bytesOnOneLine(_ number: Int) -> [UInt8] {
    bytes(number).map { $0 == 0x0A || $0 == 0x0D ? UInt8(ascii: " ") : $0 }
  }

  /// The value of `occurred_at` among an event's bytes, with its quotes; nil when it has none.
  static func occurredAt(in event: [UInt8]) -> Range<Int>? {
    event.withUnsafeBytes { JSONCutter.value("occurred_at", $0, in: 0..<$0.count) }
  }

  private func members(_ number: Int) -> [(String, String)] {
    // Up to two hours before the run, so that no step of the clock within its bounds clamps them but one backwards.
    let occurredAt = start - .milliseconds(Int(draw(number, 3) % 7_200_000))
    var members = [
      ("event_id", Self.quoted(id(number))), ("name", Self.quoted(Self.names[Int(draw(number, 4) % 6)])),
      ("anonymous_id", Self.quoted(install(number))), ("occurred_at", Self.quoted(time(occurredAt, number))),
    ]
    switch draw(number, 5) % 3 {
    case 0: members.append(("user_id", Self.quoted("u-\(draw(number, 6) % 1000)")))
    case 1: members.append(("user_id", "null"))
    default: break
    }
    members.append(("properties", properties(number)))
    if draw(number, 7) % 5 == 0 { members.append(("unknown", #"{"kept":[1,{"as":"it is"},[]]}"#)) }
    if draw(number, 8) % 3 == 0 { members.append(("context", #"{"locale":"tr-TR","app_version":"1.0.0"}"#)) }
    let turn = Int(draw(number, 9) % UInt64(members.count))
    return Array(members[turn...] + members[..<turn])
  }

  /// An event that breaks one rule.
  private func broken(_ number: Int) -> [(String, String)] {
    func changed(_ key: String, _ value: String?) -> [(String, String)] {
      members(number).compactMap { $0.0 != key ? $0 : value.map { (key, $0) } }
    }
    return switch draw(number, 10) % 8 {
    case 0: changed("name", nil)
    case 1: changed("name", #""no spaces""#)
    case 2: changed("event_id", #""\#(id(number))0""#)
    case 3: changed("occurred_at", #""yesterday""#)
    case 4: changed("anonymous_id", #""""#)
    case 5: changed("properties", #"{"nested":{"a":1}}"#)
    case 6: changed("properties", #"{"long":"\#(String(repeating: "x", count: 1025))"}"#)
    default: changed("user_id", "17") + (members(number).contains { $0.0 == "user_id" } ? [] : [("user_id", "17")])
    }
  }

  private func properties(_ number: Int) -> String {
    var all = ["\"n\":\(number)", "\"price\":\(Self.numbers[Int(draw(number, 11) % UInt64(Self.numbers.count))])"]
    all.append("\"text\":\(Self.texts[Int(draw(number, 12) % UInt64(Self.texts.count))])")
    if draw(number, 13) % 20 == 0 { all.append("\"long\":\"\(String(repeating: "lorem ", count: 160))\"") }
    return "{\(all.joined(separator: ","))}"
  }

  /// The moment in one of the forms that the API takes.
  private func time(_ moment: Timestamp, _ number: Int) -> String {
    let text = moment.description
    return switch draw(number, 14) % 4 {
    case 0: text.dropLast() + "456789Z"
    case 1: text.dropLast(5) + "+00:00"
    case 2: text.dropLast() + "-0000"
    default: text
    }
  }

  /// The members as one object, with white space between the tokens in one of many ways.
  private func joined(_ members: [(String, String)], _ number: Int) -> [UInt8] {
    let space = Self.spaces[Int(draw(number, 15) % UInt64(Self.spaces.count))]
    let pairs = members.map { "\"\($0.0)\"\(space):\(space)\($0.1)" }
    return Array("{\(space)\(pairs.joined(separator: ",\(space)"))\(space)}".utf8)
  }

  private static func quoted(_ text: String) -> String { "\"\(text)\"" }

  private static let names = [
    "app_opened", "level_completed", "Purchase.Done", "a:b-c", "x", String(repeating: "n", count: 64),
  ]
  private static let numbers = [
    "39.990", "9007199254740993", "1e-7", "-0", "0.1000000000000000055511151231257827", "1E+2", "true", "null",
    "18446744073709551616", "-1.50",
  ]
  private static let texts = [
    #""""#, #""plain""#, #""İstanbul'da şık bir gün""#, #""\u0130\ud83d\ude80\/\"\\\n""#, #""🚀👩‍👩‍👧""#,
    #""\u0000\u001f""#, #""مرحبا‎ world""#, #""e\u0301 é""#, #""a,b:{c}[d]""#,
  ]
  private static let spaces = ["", "", "", " ", "\n", "\r\n", "\t ", "\n  \n"]
}
