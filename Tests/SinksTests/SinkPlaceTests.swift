import Foundation
import Sinks
import TestSupport
import Testing

@Suite("A sink's place")
struct SinkPlaceTests {
  private let directory = TemporaryDirectory()

  @Test("is looked at before anything is changed for it, and nothing is made")
  func place() {
    let root = directory.path
    for path in ["a/b/%Y/%m.ndjson", "archive/", "all.ndjson", "%Y%m.ndjson"] {
      #expect(SinkPlace.fault("\(root)/\(path)") == nil)
    }
    #expect((try? FileManager.default.contentsOfDirectory(atPath: root)) == [])
    let file = directory.write("file", "")
    for path in ["%Y.ndjson", "a/b/%Y.ndjson", "", "all.ndjson"] {
      #expect(SinkPlace.fault("\(file)/\(path)")?.contains("\(file) is no directory") == true)
    }
  }
}
