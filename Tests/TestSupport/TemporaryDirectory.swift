import Foundation
import Synchronization

/// A directory of its own for one test, removed with the value.
public final class TemporaryDirectory: Sendable {
  public let path: String
  private let isKept: Atomic<Bool>

  public init() {
    isKept = Atomic(false)
    var template = Array("/tmp/event-relay-test.XXXXXX".utf8CString)
    path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
  }

  /// One that is there, and stays.
  public init(at path: String) {
    self.path = path
    isKept = Atomic(true)
  }

  /// Lets it stay, for whoever looks into what went wrong.
  public func keep() { isKept.store(true, ordering: .relaxed) }

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
    if isKept.load(ordering: .relaxed) { return }
    try? FileManager.default.removeItem(atPath: path)
  }
}
