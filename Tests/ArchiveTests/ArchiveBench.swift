import Clocks
import Foundation
import JSON
import Records
import Synchronization
import TestSupport

@testable import Archive

/// An archive in a directory of its own, with a writer that tests drive.
final class ArchiveBench {
  let directory = TemporaryDirectory()
  let faults = Faults()
  /// 2026-11-30T11:24:47.123Z
  var now = Timestamp(milliseconds: 1_796_037_887_123)
  var relay = "r-1"
  private(set) var writer: ArchiveWriter!
  /// What was committed last.
  var memory: ArchiveMemory?
  private(set) var next: UInt64 = 1

  /// The calls that fail, and with what.
  final class Faults: Sendable {
    private let codes = Mutex<[FileError.Operation: Int32]>([:])
    subscript(_ operation: FileError.Operation) -> Int32 {
      get { codes.withLock { $0[operation] ?? 0 } }
      set { codes.withLock { $0[operation] = newValue } }
    }
    func clear() { codes.withLock { $0 = [:] } }
  }

  var path: String { directory.file("archive") }
  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Opens the archive anew, as after a `kill -9`.
  func open() throws {
    writer = nil
    let faults = faults
    writer = try ArchiveWriter(
      ArchiveWriter.Place(path: path, relay: relay, sink: "audit"), memory: memory, now: now,
      on: FileSystem { operation, _ in faults[operation] }, random: RandomBytes.system)
  }

  func close() { writer = nil }

  static func line(_ sequence: UInt64, at time: Timestamp, relay: String = "r-1", event: String? = nil) -> String {
    let event =
      event
      ?? #"{"name":"opened","anonymous_id":"install-\#(sequence % 7)","user_id":"u\#(sequence % 3)","n":\#(sequence)}"#
    return
      #"{"received_at":"\#(time)","relay":"\#(relay)","app":"ios","kind":"event","seq":\#(sequence),"event":\#(event)}"#
  }

  /// Appends lines with the next numbers, in one go.
  func append(_ count: Int, skipping: UInt64 = 0, event: String? = nil) throws {
    next += skipping
    if writer.openFile == nil { try writer.begin(at: now, first: next) }
    var bytes: [UInt8] = []
    var notes: [ArchiveLine] = []
    for _ in 0..<count {
      let line = Array((Self.line(next, at: now, relay: relay, event: event) + "\n").utf8)
      notes.append(ArchiveLine(length: line.count, sequence: next, receivedAt: now))
      bytes += line
      next += 1
    }
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(ArchiveError) in try writer.append(bytes, notes[...]) }
    }
    try result.get()
  }

  func sync() throws {
    try writer.sync()
    memory = writer.memory
  }

  @discardableResult
  func publish() throws -> ArchiveWriter.Publication? {
    try sync()
    let publication = try writer.publish(at: now)
    memory = writer.memory
    return publication
  }

  /// Writes files of so many lines each, a minute apart.
  @discardableResult
  func publish(files: Int, of count: Int) throws -> [ManifestFile] {
    if writer == nil { try open() }
    var out: [ManifestFile] = []
    for _ in 0..<files {
      try append(count / 2)
      try sync()
      try append(count - count / 2)
      if let file = try publish()?.file { out.append(file) }
      now = now + .seconds(60)
    }
    return out
  }

  func verify(noted: Digest? = nil) throws -> ArchiveReport { try ArchiveVerification.verify(path, noted: noted) }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }

  func bytes(_ name: String) -> [UInt8] { readFile(file(name)) ?? [] }

  func write(_ name: String, _ bytes: [UInt8]) { try! Data(bytes).write(to: URL(filePath: file(name))) }

  func change(_ name: String, _ body: (inout [UInt8]) -> Void) {
    var bytes = self.bytes(name)
    body(&bytes)
    write(name, bytes)
  }

  var manifestLines: [String] { readLines(file("manifest.ndjson")) }

  /// The numbers of all events that can be read from the published files, in order.
  func sequences() throws -> [UInt64] {
    var out: [UInt64] = []
    try ArchiveReader(directory: path).forEachLine { _, line in
      out.append(LineHead.sequence(of: line) ?? 0)
      return true
    }
    return out
  }

  /// Whether gzip finds the file whole.
  func gzipAccepts(_ name: String) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/gzip")
    process.arguments = ["-t", file(name)]
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
