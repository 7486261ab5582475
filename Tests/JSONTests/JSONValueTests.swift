import JSON
import Testing

@Suite("A JSON value")
struct JSONValueTests {
  @Test("comes back as it was written, numbers to the digit")
  func roundTrip() throws {
    let text = #"{"a":[1,-2.50,1E5,9007199254740993,true,false,null],"b":{"c":"x\n\"ü"},"d":[],"e":{}}"#
    let value = try JSONValue(parsing: text)
    #expect(value.description == text)
    #expect(value["b"]?["c"]?.string == "x\n\"ü")
    #expect(value["a"]?.array?[3].integer(as: Int64.self) == 9_007_199_254_740_993)
  }

  @Test("takes the last of two members with one key")
  func duplicateKeys() throws {
    #expect(try JSONValue(parsing: #"{"a":1,"a":2}"#)["a"]?.integer() == 2)
  }

  @Test(
    "refuses what is no document", arguments: ["", " ", "{", "[1,]", "nul", "3", #"{"a":truexyz}"#, #"["\q"]"#, "[01]"])
  func refuses(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
  }

  @Test("refuses what is deeper than 64 levels")
  func depth() {
    let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
    #expect(throws: JSONError.self) { try JSONValue(parsing: deep) }
  }

  @Test("takes numbers of any size and lone surrogates, which become U+FFFD")
  func unusual() throws {
    let value = try JSONValue(parsing: #"{"n":[99999999999999999999,1e999],"s":"a\ud800b"}"#)
    #expect(value["n"] == [.number("99999999999999999999"), .number("1e999")])
    #expect(value["s"]?.string == "a\u{FFFD}b")
  }

  @Test("of a megabyte takes a moment, not hours")
  func large() throws {
    let count = 200_000
    let value = try JSONValue(
      parsing:
        "[\(Array(repeating: "1", count: count).joined(separator: ",")),{\(Array(repeating: "\"a\":1", count: count).joined(separator: ","))}]"
    )
    #expect(value.array?.count == count + 1)
    #expect(value.array?.last?["a"] == 1)
  }
}
