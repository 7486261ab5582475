import Foundation
import TestSupport
import Testing

@testable import Apps

@Suite("The file of senders' keys")
struct KeyFileTests {
  private let directory = TemporaryDirectory()
  private var path: String { directory.file("keys") }
  private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()) ?? [] }

  @Test("has a key before the key's first request is let in, and gives it back after a restart")
  func restart() throws {
    let before = try registry([ios], storage: path)
    #expect(readFile(path) == nil)
    let admission = before.app(forKey: "aso_wk_a")
    #expect(readLines(path) == ["event-relay keys 1", "\(ownName("aso_wk_a")) aso_wk_a", "end 1"])
    _ = before.app(forKey: "aso_wk_b")
    _ = before.app(forKey: "aso_wk_ios")

    let after = try registry([ios], storage: path)
    #expect(after.upstreamKey(ofApp: ownName("aso_wk_a")) == "aso_wk_a")
    #expect(after.app(forKey: "aso_wk_a") == admission)
    #expect(after.names == ["ios"] + [ownName("aso_wk_a"), ownName("aso_wk_b")].sorted())
    #expect(names == ["keys"])
  }

  @Test("is for its owner alone")
  func permissions() throws {
    _ = try registry(storage: path).app(forKey: "k")
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test("keeps the names it has, longer ones too")
  func longNames() throws {
    let digest = KeyRules.digest(of: "k")
    _ = directory.write("keys", "event-relay keys 1\nkey-\(digest.prefix(11)) k\nend 1\n")
    #expect(try registry(storage: path).app(forKey: "k").appName == "key-\(digest.prefix(11))")
  }

  @Test(
    "is copied aside when it is damaged, and what can be read of it is used",
    arguments: [
      "", "\0\0\0\0", "event-relay keys 1\nGOOD\nend 2\n", "event-relay keys 1\nGOOD\n", "event-relay keys 1\nGOOD",
      "event-relay keys 1\nGOOD\nkey-00000000 wrong\nend 2\n", "event-relay keys 1\nGOOD\nGOOD\nend 2\n",
      "event-relay keys 0\nGOOD\nend 1\n", "event-relay keys x\nGOOD\nend 1\n", "GOOD\n",
      "event-relay keys 1\nGOOD\nend 1\nend 1\n",
      "event-relay keys 1\n\u{FFFD}\nGOOD\nend 1\n",
    ])
  func damaged(content: String) throws {
    let good = "\(ownName("good")) good"
    let text = content.replacing("GOOD", with: good)
    _ = directory.write("keys", text)
    let lines = LogLines()
    let damaged = try registry(storage: path, logger: lines.logger)
    #expect(damaged.upstreamKey(ofApp: ownName("good")) == (content.contains("GOOD") ? "good" : nil))
    let aside = try #require(names.first { $0.hasPrefix("keys.damaged-") })
    #expect(readFile(directory.file(aside)) == Array(text.utf8))
    #expect(lines.list.contains { $0.contains("ERROR") && $0.contains(path) && $0.contains(aside) })
    #expect(!lines.list.contains { $0.contains(" good") })
    // And it is whole again.
    #expect(
      KeyFile.parse(try #require(readFile(path)))
        == .whole(content.contains("GOOD") ? [.init(app: ownName("good"), key: "good")] : []))
    _ = try registry(storage: path, logger: lines.logger)
    #expect(names.count == 2)
  }

  @Test("survives random damage without a crash, and without a key that nobody sent")
  func fuzz() {
    var random = SystemRandomNumberGenerator()
    let lines = (0..<20).map { KeyFile.Line(app: ownName("key_\($0)"), key: "key_\($0)") }
    let whole = KeyFile.content(of: lines)
    #expect(KeyFile.parse(whole) == .whole(lines))
    for _ in 0..<2000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: Int.random(in: bytes.indices, using: &random))
        default: bytes.removeLast(Int.random(in: 0..<40, using: &random))
        }
      }
      switch KeyFile.parse(bytes) {
      case .whole(let read): #expect(read == lines && bytes == whole)
      case .damaged(let read): #expect(read.allSatisfy { OwnApp.isName($0.app, for: $0.key) })
      case .newer: break
      }
    }
  }

  @Test("of a newer version is refused with both versions named, and left alone")
  func newer() {
    let text = "event-relay keys 7\nsomething new\n"
    _ = directory.write("keys", text)
    #expect(throws: AppsError.newerVersion(path: path, found: 7, known: 1)) { try registry(storage: path) }
    let description = "\(AppsError.newerVersion(path: path, found: 7, known: 1))"
    #expect(description.contains("version 7") && description.contains("version 1") && description.contains(path))
    #expect(readFile(path) == Array(text.utf8))
    #expect(names == ["keys"])
  }

  @Test("that can't be read ends the start with its path and the reason")
  func unreadable() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    #expect { try registry(storage: path) } throws: { "\($0)".contains(path) && "\($0)".contains("directory") }
  }

  @Test("that can't be written lets no new key in; the known ones go on, and the new one too once it can")
  func unwritable() throws {
    let inner = directory.file("data")
    try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
    let registry = try registry([ios], storage: "\(inner)/keys")
    #expect(registry.app(forKey: "known").appName != nil)
    try FileManager.default.moveItem(atPath: inner, toPath: "\(inner)-away")
    #expect(registry.app(forKey: "new") == .keyNotStored)
    #expect(registry.app(forKey: "known").appName != nil)
    #expect(registry.app(forKey: "aso_wk_ios").appName == "ios")
    try FileManager.default.moveItem(atPath: "\(inner)-away", toPath: inner)
    #expect(registry.app(forKey: "new").appName != nil)
  }
}
