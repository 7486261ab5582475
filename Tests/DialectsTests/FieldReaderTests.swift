import EventsAPI
import Testing

@testable import Dialects

@Suite("Reading members by their names")
struct FieldReaderTests {
  private let reader = FieldReader(bodyBytesMax: 4096, elementsMax: 2, body: "token sent_at", element: "uuid event n")

  private func batch<Result>(_ text: String, _ use: (Fields) -> Result) throws -> Result {
    try Padded(text).use { body in use(try reader.readBatch(body).get()) }
  }

  private func fault(_ text: String) throws -> String {
    Padded(text).use { body in
      guard case .failure(let error) = reader.readBatch(body) else { return "none" }
      return error.message
    }
  }

  @Test("finds each event, where it stands, and its members in whatever order they come")
  func batch() throws {
    let text = #"{"token":"k","events":[{"event":"a","uuid":"1","x":{"uuid":"no"}}, {"n":-1e3}],"sent_at":"t"}"#
    try batch(text) { fields in
      #expect(fields.count == 2)
      #expect(Array(text.utf8)[fields[0].range].elementsEqual(#"{"event":"a","uuid":"1","x":{"uuid":"no"}}"#.utf8))
      #expect(fields[0][0].text == "1")
      #expect(fields[0][1].text == "a")
      #expect(fields[0][2].isAbsent)
      #expect(fields[1][0].isAbsent)
      #expect(Array(text.utf8)[fields[1][2].range].elementsEqual("-1e3".utf8))
      #expect(fields.body[0].text == "k")
      #expect(fields.body[1].text == "t")
      #expect(Array(text.utf8)[fields.array].first == UInt8(ascii: "["))
      #expect(Array(text.utf8)[fields.array].last == UInt8(ascii: "]"))
    }
  }

  @Test("knows a name however its key is escaped, and takes the last of several")
  func escapedAndRepeated() throws {
    try batch(#"{"events":[{"\u0075uid":"1","uuid":"2\n\u00e9"}]}"#) { fields in
      #expect(fields[0][0].text == "2\né")
      #expect(fields[0].hasRepeats)
    }
    try batch(#"{"events":[{"uuid":"1"}]}"#) { #expect(!$0[0].hasRepeats) }
  }

  @Test("counts all events, and keeps what may be of them")
  func many() throws {
    try batch(#"{"events":[{"n":1},{"n":2},{"n":3},{"n":4}]}"#) { fields in
      #expect(fields.count == 4)
      #expect(fields[1][2].range.count == 1)
    }
  }

  @Test("tells an element that is no object, and a line break between tokens")
  func otherElements() throws {
    try batch("{\"events\":[7,{\"n\":\n1}]}") { fields in
      #expect(!fields[0].isObject)
      #expect(!fields[0].hasLineBreaks)
      #expect(fields[1].isObject)
      #expect(fields[1].hasLineBreaks)
    }
  }

  @Test(
    "says what is wrong with a body, and where",
    arguments: [
      ("", "The body is empty (at byte 0)."),
      ("[]", "The body is not a JSON object (at byte 0)."),
      ("{}", "The body has no \"events\" (at byte 0)."),
      (#"{"events":{}}"#, "The body has an \"events\" that is not an array (at byte 10)."),
      (#"{"events":[}"#, "The body has something that is no JSON value (at byte 11)."),
      (#"{"events":[{"n":1,}]}"#, "The body has no string where a key must stand (at byte 18)."),
      (#"{"events":[]} {}"#, "The body goes on after its closing brace (at byte 14)."),
    ])
  func faults(_ text: String, _ message: String) throws {
    #expect(try fault(text) == message)
  }

  @Test("refuses a longer body than it may read")
  func tooLong() throws {
    #expect(try fault(#"{"events":[""# + String(repeating: "x", count: 4096) + "\"]}").contains("over 4096 bytes"))
  }

  @Test("reads a body that is one event, with the members of both lists")
  func one() throws {
    try Padded(#"{"uuid":"1","token":"k","event":"a"}"#).use { body in
      let fields = try reader.readOne(body).get()
      #expect(fields.count == 1)
      #expect(fields[0][0].text == "1")
      #expect(fields.body[0].text == "k")
      #expect(fields.body[0].keyBegin == 12)
    }
  }

  @Test("counts a string's characters as they are meant")
  func lengths() throws {
    try batch(#"{"events":[{"uuid":"\u00e9é\ud83d\ude00","event":""}]}"#) { fields in
      #expect(fields[0][0].isString(of: 3...3))
      #expect(!fields[0][0].isString(of: 1...2))
      #expect(!fields[0][1].isString(of: 1...9))
    }
  }
}

@Suite("The protocols")
struct DialectRegistryTests {
  @Test("have numbers, names and paths of their own")
  func distinct() {
    let all = DialectRegistry.all
    #expect(Set(all.map(\.number)).count == all.count)
    #expect(Set(all.map(\.name)).count == all.count)
    let paths = all.flatMap { $0.incoming.routes.map(\.path) }
    #expect(Set(paths).count == paths.count)
  }

  @Test("are found by number and by name, and one that a newer program knows is called by its number")
  func found() {
    for dialect in DialectRegistry.all {
      #expect(DialectRegistry.dialect(dialect.number)?.name == dialect.name)
      #expect(DialectRegistry.dialect(named: dialect.name)?.number == dialect.number)
    }
    #expect(DialectRegistry.usual.number == 0)
    #expect(DialectRegistry.name(of: 200) == "unknown-200")
    #expect(DialectRegistry.dialect(named: "morse") == nil)
  }
}
