import Foundation
import TestSupport
import Testing

/// The relay's judgement of events beside that of a validator written from the specification alone, in Python.
///
/// A part of the check; `Deploy/differential` runs all of it.
@Suite("The relay and a validator made from the specification") struct DifferentialTests {
  private static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Differential/differential.py").path(percentEncoded: false)

  @Test("say the same of 20,000 events, hostile ones included, and a changed rule would be noticed")
  func agree() async throws {
    let child = try ChildProcess(
      ["python3", Self.script, "--program", ChildProcess.eventRelay, "--events", "20000", "--seed", "20261130"]
        + ["--self-check"], program: "/usr/bin/env")
    let code = await child.wait()
    let said = String(decoding: child.output.value, as: UTF8.self)
    #expect(code == 0, "\(said)\(child.errorText)")
    #expect(said.contains("0 differences"))
  }
}
