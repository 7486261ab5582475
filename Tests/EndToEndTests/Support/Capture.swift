import Foundation
import TestSupport
import Testing

/// A request that a vendor's own SDK sent, byte for byte.
struct Capture: Sendable, CustomTestStringConvertible {
  /// Its file's name without the ending.
  let name: String
  let bytes: [UInt8]

  var testDescription: String { name }

  /// `POST /track HTTP/1.1` and the headers.
  var head: String { String(decoding: bytes[..<bodyStart], as: UTF8.self) }
  var body: [UInt8] { Array(bytes[bodyStart...]) }
  var path: String { String(head.split(separator: " ")[1]) }

  /// The events in it, each as it stands there.
  var events: [[UInt8]] { RawJSON.member("events", of: body).map(RawJSON.elements) ?? [body] }

  private var bodyStart: Int {
    let mark = Array("\r\n\r\n".utf8)
    return (0...bytes.count - 4).first { Array(bytes[$0..<$0 + 4]) == mark }! + 4
  }

  /// All captures of a vendor, in their names' order.
  static func all(_ vendor: String) -> [Capture] {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = tests.appendingPathComponent("Captures").path
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.filter { $0.hasPrefix(vendor) && $0.hasSuffix(".req") }.sorted().map {
      Capture(name: String($0.dropLast(4)), bytes: readFile("\(folder)/\($0)") ?? [])
    }
  }
}

extension RelayProcess {
  /// Posts bytes as they are, over a connection of their own.
  func postRaw(_ bytes: [UInt8]) async throws -> TestAnswer {
    let address = ingest[0]
    return try await onThread {
      guard let answer = try TestConnection(to: address).exchange(bytes).first else {
        throw TestFailure("no answer")
      }
      return answer
    }
  }
}
