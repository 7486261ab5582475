import JSON
import TestSupport
import Testing

/// What `event-relay doctor` says of a test's relay, whether it runs or not.
struct DoctorReport {
  let exitCode: Int32
  let json: JSONValue
  let errors: String

  /// The names of the checks that found something wrong, and what they found.
  var faults: [(name: String, detail: String)] {
    (json["checks"]?.array ?? []).filter { $0["ok"]?.bool != true }.map {
      ($0["name"]?.string ?? "?", $0["detail"]?.string ?? "")
    }
  }

  /// Whether nothing is wrong at all.
  var isWell: Bool { exitCode == 0 && json["ok"]?.bool == true && faults.isEmpty }

  func has(_ name: String, _ words: String) -> Bool {
    faults.contains { $0.name == name && $0.detail.contains(words) }
  }
}

func doctor(_ directory: TemporaryDirectory, _ options: String..., environment: [String: String] = [:]) async throws
  -> DoctorReport
{
  let child = try ChildProcess(
    ["doctor", "--json", "--config", directory.file("relay.yaml")] + options, environment: environment)
  guard let code = await child.wait() else { throw TestFailure("doctor doesn't end:\n\(child.errorText)") }
  guard let json = try? JSONValue(parsing: Array(child.outputText.utf8)) else {
    throw TestFailure("doctor prints no object: \(child.outputText)\(child.errorText)")
  }
  return DoctorReport(exitCode: code, json: json, errors: child.errorText)
}

/// Expects that everything is well, and names what isn't.
func expectWell(
  _ directory: TemporaryDirectory, environment: [String: String] = [:],
  sourceLocation: SourceLocation = #_sourceLocation
) async throws {
  let report = try await doctor(directory, environment: environment)
  #expect(report.isWell, "\(report.faults) \(report.errors)", sourceLocation: sourceLocation)
}
