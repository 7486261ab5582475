import Foundation
import TestSupport

/// An event made for a test: its id, and its bytes as they are sent.
struct TestEvent: Sendable {
  var id: String
  var bytes: [UInt8]

  /// An event with a number, written in one of several hands, so that no two spellings are taken for the same.
  init(
    _ number: Int, name: String = "level_completed", install: String? = nil, at: Date = Date(),
    properties: String? = nil
  ) {
    id = UUID().uuidString.lowercased()
    let time = Self.text(at)
    let install = install ?? "install-\(number % 50)"
    let properties =
      properties ?? #"{"n":\#(number),"price":39.990,"big":9007199254740993,"e":1E5,"text":"ı \u0131 \/"}"#
    let text =
      switch number % 3 {
      case 0:
        #"{"event_id":"\#(id)","name":"\#(name)","anonymous_id":"\#(install)","occurred_at":"\#(time)","properties":\#(properties)}"#
      case 1:
        #"{ "properties": \#(properties), "occurred_at":"\#(time)","unknown":{"a":[1,-0.0,null]}, "anonymous_id":"\#(install)","user_id":null,"name" : "\#(name)","event_id":"\#(id)" }"#
      default:
        #"{"name":"\#(name)","event_id":"\#(id)","occurred_at":"\#(time)","anonymous_id":"\#(install)","properties":\#(properties),"context":{"app_version":"2.4.0","environment":"app_store"}}"#
      }
    bytes = Array(text.utf8)
  }

  init(id: String, text: String) {
    self.id = id
    bytes = Array(text.utf8)
  }

  /// The bytes as text.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// This moment, as an event has it.
  static var now: String { text(Date()) }

  private static func text(_ date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  static func batch(_ events: some Sequence<TestEvent>) -> [UInt8] {
    Array(#"{"events":["#.utf8) + events.map(\.bytes).joined(separator: [UInt8(ascii: ",")]) + Array("]}".utf8)
  }
}
