import Foundation

/// A directory of its own for one test, removed with the value.
public final class TemporaryDirectory: Sendable {
  public let path: String

  public init() {
    var template = Array("/tmp/event-relay-test.XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
  }

  public func file(_ name: String) -> String { "\(path)/\(name)" }

  public func write(_ name: String, _ text: String) -> String {
    let file = self.file(name)
    let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    precondition(descriptor >= 0, "can't write \(file)")
    _ = Array(text.utf8).withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
    return file
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
