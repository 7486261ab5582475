import Foundation
import Sinks
import TestSupport
import Testing

@testable import Configuration

@Suite("A file of ids whose events are not kept")
struct DeniedIDsTests {
  private let directory = TemporaryDirectory()

  private func faults(_ bytes: [UInt8]) -> [DeniedIDs.Fault] {
    guard case .failure(let faults) = DeniedIDs.parse(bytes) else { return [] }
    return faults.all
  }

  private func load(_ consent: String) -> Result<RelayConfiguration, ConfigurationFaults> {
    let file = directory.write(
      "relay.yaml", "apps:\n  - name: a\n    write_key: aso_wk_1\n    consent: { \(consent) }\n")
    return ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all)
  }

  @Test("has one a line; blank lines, comments, spaces around and a byte order mark are skipped")
  func lines() throws {
    let text = "\u{FEFF}# who asked to be left alone\n\nanon_1\r\n  user ü \t\n   \n #anon_2\nanon_1\na#b\nlast"
    let ids = try DeniedIDs.parse(Array(text.utf8)).get()
    #expect(ids == DeniedIDs(["anon_1", "user ü", "anon_1", "a#b", "last"]))
    #expect(ids.count == 5 && String(decoding: ids.lines, as: UTF8.self) == "anon_1\nuser ü\nanon_1\na#b\nlast\n")
    for empty in ["", "\n", "# nobody\n", "\r\n \r\n"] {
      #expect(try DeniedIDs.parse(Array(empty.utf8)).get() == DeniedIDs([]))
    }
  }

  @Test("may have ids of 1024 bytes and not of 1025, and no other than UTF-8 text")
  func bad() throws {
    let long = String(repeating: "x", count: 1024)
    #expect(try DeniedIDs.parse(Array("a\n\(long)".utf8)).get().count == 2)
    #expect(
      faults(Array("a\n\(long)y\nb".utf8)) == [
        .init(line: 2, message: "has 1025 bytes; an id has 1024 at most, and a line holds one")
      ])
    #expect(
      faults(Array("# ü\na\n".utf8) + [0xFC, 0x0A] + Array("b\tc\n".utf8)) == [
        .init(line: 3, message: "is not UTF-8 text; save the file as UTF-8"),
        .init(line: 4, message: "holds a control character; a line holds one id and nothing else, in UTF-8"),
      ])
    // As another program saves it: UTF-16.
    #expect(faults([0xFF, 0xFE, 0x61, 0, 0x0A, 0]).first?.line == 1)
  }

  @Test("has at most a million ids, comments not counted")
  func tooMany() throws {
    let most = [UInt8](repeating: UInt8(ascii: "a"), count: 1) + [0x0A]
    let million = [UInt8]((0..<1_000_000).map { _ in most }.joined())
    #expect(try DeniedIDs.parse(Array("# x\n".utf8) + million + Array("# y\n".utf8)).get().count == 1_000_000)
    #expect(
      faults(Array("# x\n".utf8) + million + Array("b\nc\n".utf8)) == [
        .init(line: 1_000_002, message: "is one id too many; 1000000 may be listed")
      ])
  }

  @Test("has the first ten faults told, and that there may be more")
  func manyFaults() {
    let found = faults(Array(String(repeating: "a\tb\n", count: 500).utf8))
    #expect(found.count == 11 && found.first?.line == 1 && found[9].line == 10)
    #expect(found.last == .init(line: 0, message: "may have more such lines"))
  }

  @Test("is read with the configuration, relative to it, and watched")
  func loaded() throws {
    let file = directory.write("deny.txt", "anon_1\n")
    #expect(try load("deny_ids_file: deny.txt").get().apps[0].deniedIDs == DeniedIDs(["anon_1"]))
    #expect(try load("deny_ids_file: ~").get().apps[0].deniedIDs == nil)
    #expect(try load("").get().apps[0].deniedIDs == nil)
    let source = ConfigurationSource(
      file: directory.file("relay.yaml"), environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all)
    _ = try load("deny_ids_file: deny.txt").get()
    _ = try source.read().get()
    source.accept()
    #expect(source.files == [file])
    _ = directory.write("deny.txt", "anon_2\n")
    #expect(try source.readFilesAgain().get().apps[0].deniedIDs == DeniedIDs(["anon_2"]))
  }

  @Test("that is empty is a warning: somebody may be writing it just then")
  func empty() throws {
    let file = directory.write("deny.txt", "# nobody yet\n")
    let read = try load("deny_ids_file: deny.txt").get()
    #expect(read.apps[0].deniedIDs == DeniedIDs([]))
    #expect(read.warnings.map(\.message) == ["\"\(file)\" lists nobody: no event is left out"])
  }

  @Test("is named with its line when something is wrong with it, and nobody on it is")
  func told() throws {
    let file = directory.write("deny.txt", "anon_1\nsesame\tx\n")
    guard case .failure(let faults) = load("deny_ids_file: deny.txt") else {
      Issue.record("no fault")
      return
    }
    #expect(
      faults.all.map { "\($0.line) \($0.key): \($0.message)" } == [
        "4 apps[0].consent.deny_ids_file: \"\(file)\", line 2: holds a control character; a line holds one id and nothing else, in UTF-8"
      ])
    #expect(!"\(DeniedIDs(["sesame"]))".contains("sesame"))
    let large = try #require(
      FileManager.default.createFile(atPath: directory.file("big"), contents: Data(count: 10_000_001)) ? "big" : nil)
    guard case .failure(let tooLarge) = load("deny_ids_file: \(large)") else {
      Issue.record("no fault")
      return
    }
    #expect(tooLarge.all.map(\.message) == ["\"\(directory.file("big"))\": is larger than 10MB; is it the right file?"])
  }
}
