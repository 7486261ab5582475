import Foundation
import JSON
import Records
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("The audit trail")
struct AuditTrailTests {
  private let directory = TemporaryDirectory()
  private var file: String { directory.file("audit.ndjson") }

  private func actions() throws -> [String] {
    try readLines(file).map { try JSONValue(parsing: $0)["action"]?.string ?? "?" }
  }

  @Test(
    "is durable under its name with its first line, and cuts off what a crash left of a line that nobody was told of")
  func crashes() throws {
    let calls = Mutex<[FileError.Operation]>([])
    let files = FileSystem { operation, _ in
      calls.withLock { $0.append(operation) }
      return 0
    }
    let trail = AuditTrail(directory: directory.path, files: files)
    try trail.record("reload", by: "test")
    #expect(calls.withLock { $0.suffix(2) } == [.syncDirectory, .syncDirectory])
    calls.withLock { $0 = [] }
    try trail.record("drain", by: "test")
    #expect(calls.withLock { $0.filter { $0 != .inspect } } == [.create, .write, .sync])

    // The disk had begun to write another one.
    let whole = try #require(readFile(file))
    for torn in [#"{"at":"2026-11-30T1"#, "\0\0\0\0", "x"] {
      _ = directory.write("audit.ndjson", String(decoding: whole, as: UTF8.self) + torn)
      try AuditTrail(directory: directory.path).record("adopt", by: "test")
      #expect(try actions() == ["reload", "drain", "adopt"])
    }
    _ = directory.write("audit.ndjson", "\0\0")
    try AuditTrail(directory: directory.path).record("adopt", by: "test")
    #expect(try actions() == ["adopt"])
  }

  @Test(
    "has no line of a change that was refused since the line couldn't be written, or not be made durable",
    arguments: [
      FileError.Operation.write, .sync, .syncDirectory,
    ])
  func failures(operation: FileError.Operation) throws {
    let fails = Mutex(true)
    let files = FileSystem { asked, _ in asked == operation && fails.withLock { $0 } ? EIO : 0 }
    try AuditTrail(directory: directory.path).record("adopt", by: "test")
    let trail = AuditTrail(directory: directory.path, files: files)
    let error = #expect(throws: RelayError.self) { try trail.record("reload", by: "test") }
    #expect(error?.description.contains("cannot write the audit line") == true)
    #expect(try actions() == ["adopt"])
    fails.withLock { $0 = false }
    try trail.record("drain", by: "test")
    #expect(try actions() == ["adopt", "drain"])
  }
}
