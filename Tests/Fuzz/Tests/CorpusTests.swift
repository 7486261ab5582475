import Foundation
import TestSupport
import Testing

/// Every input that the fuzz targets' corpora hold: seeds by hand, what libFuzzer found worth keeping, and whatever once broke
/// a promise.
@Suite("Fuzz corpora") struct CorpusTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Corpus").path(percentEncoded: false)

  private static func files(_ target: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(target)")) ?? []).sorted()
  }

  @Test("every target keeps its promises for all of its corpus", arguments: FuzzTarget.all.map(\.name))
  func keepsPromises(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    let files = Self.files(name)
    #expect(files.count >= 3, "the corpus of \(name) is gone")
    for file in files {
      let bytes = try #require(readFile("\(Self.folder)/\(name)/\(file)"))
      #expect(bytes.count <= target.bytesMax, "\(name)/\(file) is longer than the target's inputs")
      let broken = bytes.withUnsafeBytes { bytes in
        do throws(BrokenPromise) {
          try target.check(bytes)
          return BrokenPromise?.none
        } catch {
          return error
        }
      }
      #expect(broken == nil, "\(name)/\(file): \(broken?.description ?? "")")
    }
  }

  @Test("every corpus is a target's, and small enough to be in the tree")
  func noStrays() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
    #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    for name in folders {
      let sizes = Self.files(name).compactMap { readFile("\(Self.folder)/\(name)/\($0)")?.count }
      #expect(sizes.reduce(0, +) <= 200_000, "the corpus of \(name) is too large")
    }
  }
}
