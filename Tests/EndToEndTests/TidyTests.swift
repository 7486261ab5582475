import Foundation
import TestSupport
import Testing

/// The house's rules that a machine can check. What the formatter checks isn't here.
@Suite("The house is tidy")
struct TidyTests {
  private struct File {
    /// From the package's root.
    var name: String
    var text: String
    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// Every text file of ours in these folders.
  private static func files(_ folders: String..., endings: Set<String> = ["swift", "c", "cpp", "h", "md"]) -> [File] {
    folders.flatMap { folder in
      (FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects ?? []).compactMap { $0 as? String }
        .filter { endings.contains(($0 as NSString).pathExtension) || endings.isEmpty }
        .compactMap { name in
          guard let bytes = readFile("\(root)/\(folder)/\(name)") else { return nil }
          return File(name: "\(folder)/\(name)", text: String(decoding: bytes, as: UTF8.self))
        }
    }
  }

  @Test("no file of the program is longer than 400 lines")
  func short() {
    let files = Self.files("Sources", endings: ["swift", "c", "cpp", "h"])
    #expect(!files.isEmpty)
    #expect(files.filter { $0.lines.count > 401 }.map(\.name) == [])
  }

  @Test("the program does without Foundation, which would cost memory and start-up time")
  func noFoundation() {
    let files = Self.files("Sources", endings: ["swift"])
    #expect(files.filter { file in file.lines.contains { $0.hasPrefix("import Foundation") } }.map(\.name) == [])
  }

  @Test("no source can be made to crash on purpose, and nothing is left for later")
  func nothingLeftBehind() {
    let marks = ["try" + "!", "as" + "! ", "fatal" + "Error(", "TO" + "DO", "FIX" + "ME"]
    for file in Self.files("Sources") {
      for mark in marks { #expect(!file.text.contains(mark), "\(file.name) has \(mark)") }
    }
  }

  @Test("every exemption from the compiler's checks of concurrency says why")
  func uncheckedSaysWhy() {
    let mark = "@unchecked " + "Sendable"
    for file in Self.files("Sources", endings: ["swift"]) {
      let lines = file.lines
      for at in lines.indices where lines[at].contains(mark) && !lines[at].contains("///") {
        let comment = lines[max(0, at - 14)..<at].filter { $0.contains("//") }.joined().lowercased()
        #expect(comment.contains("unchecked"), "\(file.name):\(at + 1) says not why")
      }
    }
  }

  @Test("no lock's value is a closure: it would be wrapped once more at every look")
  func noBareClosuresInLocks() {
    for file in Self.files("Sources", endings: ["swift"]) {
      for line in file.lines where line.contains("Mutex<") {
        let type = line[line.range(of: "Mutex<")!.upperBound...].drop { $0 == "(" }
        #expect(!type.hasPrefix("@Sendable"), "\(file.name) keeps a bare closure in a lock")
      }
    }
  }

  @Test("no test waits by sleeping")
  func noSleeps() {
    let marks = ["Task" + ".sleep", "u" + "sleep(", "Thread" + ".sleep", "nano" + "sleep("]
    // `Fact` has the one watchdog, which only ever ends a test that has failed.
    for file in Self.files("Tests", endings: ["swift"]) where file.name != "Tests/TestSupport/Fact.swift" {
      for mark in marks { #expect(!file.text.contains(mark), "\(file.name) has \(mark)") }
    }
  }

  @Test("nothing names a folder of the machine it was written on")
  func noForeignPaths() {
    let mark = "/" + "work" + "/"
    for file in Self.files("Sources", "Tests", "Deploy", "Config", ".ci", endings: []) {
      #expect(!file.text.contains(mark), "\(file.name)")
    }
  }
}
