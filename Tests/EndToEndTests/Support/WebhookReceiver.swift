import Foundation
import JSON
import TestSupport
import Testing

/// Tools in Python that stand for other people's programs.
enum PythonTools {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path

  /// A Python with the `standardwebhooks` package; `Deploy/test` makes it.
  static let python = "\(root)/.build/webhook-verifier/bin/python"
  static var isThere: Bool { FileManager.default.isExecutableFile(atPath: python) }
  static let comment: Comment = "needs the Python that Deploy/test makes: run that once"

  static func path(_ tool: String) -> String { "\(root)/Tests/Tools/\(tool)" }

  /// Starts a tool that says `listening PORT` first.
  static func start(_ tool: String, _ arguments: String...) async throws -> (process: ChildProcess, port: Int) {
    let process = try ChildProcess([path(tool)] + arguments, program: python)
    let said = await process.output.wait { String(decoding: $0, as: UTF8.self).contains("\n") }
    let words = String(decoding: said ?? [], as: UTF8.self).split(whereSeparator: \.isWhitespace)
    guard words.first == "listening", let port = words.dropFirst().first.flatMap({ Int($0) }) else {
      throw TestFailure("\(tool) doesn't start:\n\(process.errorText)")
    }
    return (process, port)
  }

  /// What the independent implementation says to each request: `ok`, or an error's name.
  static func verify(
    _ requests: [ScriptedUpstream.Request], secret: String, in directory: TemporaryDirectory
  ) async throws -> [String] {
    let lines = requests.map { request in
      JSONValue.object([
        .init("secret", .string(secret)),
        .init("headers", .object(request.headers.map { .init($0.key, .string($0.value)) })),
        .init("body", .string(Data(request.body).base64EncodedString())),
      ]).description
    }
    let file = directory.write("captured.ndjson", lines.joined(separator: "\n"))
    let process = try ChildProcess([path("verify_webhooks.py"), file], program: python)
    guard await process.wait() == 0 else { throw TestFailure(process.errorText) }
    return process.outputText.split(separator: "\n").map(String.init)
  }
}

extension ScriptedUpstream.Request {
  var webhookID: String { headers["webhook-id"] ?? "" }

  /// The record lines that a webhook's body holds, each as it came.
  var lines: [[UInt8]] {
    RawJSON.elements(RawJSON.member("events", of: RawJSON.member("data", of: body) ?? []) ?? [])
  }

  /// The ids of their events.
  var eventIDs: [String] {
    lines.map { RawJSON.string("event_id", of: RawJSON.member("event", of: $0) ?? []) ?? "" }
  }

  var numbers: [Int] {
    lines.map { Int(String(decoding: RawJSON.member("seq", of: $0) ?? [], as: UTF8.self)) ?? 0 }
  }
}
