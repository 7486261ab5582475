import Foundation
import Sinks
import TestSupport
import Testing

@Suite("A sink's place")
struct SinkPlaceTests {
  private let directory = TemporaryDirectory()

  @Test("is right where a directory can be made or written, whatever fields its path has; nothing is made")
  func place() {
    for path in [
      "x.ndjson", "all.ndjson", "%Y%m.ndjson", "a/b/%Y/%m.ndjson", "new/deep/%Y/%H.ndjson", "%app/x.ndjson", "archive/",
      "new/archive/",
    ] {
      #expect(SinkPlace.fault(directory.file(path)) == nil, "\(path)")
    }
    #expect(SinkPlace.fault("/%Y.ndjson") == nil || geteuid() != 0)
    #expect((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) == [])
  }

  @Test("is wrong where a file is in the way, which is named")
  func file() {
    let file = directory.write("taken", "a file")
    for path in ["", "x.ndjson", "%Y.ndjson", "a/b/%Y.ndjson", "deep/%Y/x.ndjson"] {
      #expect(SinkPlace.fault("\(file)/\(path)")?.hasPrefix("\(file) is no directory") == true, "\(path)")
    }
  }

  @Test("is wrong where nobody can write")
  func unwritable() {
    // (Not even root writes there.)
    #expect(SinkPlace.fault("/proc/self/x/y.ndjson")?.contains("/proc/self") == true || geteuid() == 0)
    #expect(SinkPlace.fault("/sys/x.ndjson") != nil || access("/sys", W_OK) == 0)
  }
}
