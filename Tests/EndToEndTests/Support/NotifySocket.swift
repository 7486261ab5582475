import Foundation
import TestSupport

/// What a service manager listens on.
final class NotifySocket: Sendable {
  let path: String
  let messages = Fact<[String]>([])
  private let descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | closeOnExec, 0)
    var name = sockaddr_un()
    name.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    guard withSocketAddress(&name, { bind(descriptor, $0, $1) }) == 0 else { throw TestFailure("can't bind \(path)") }
    Thread.detachNewThread { [descriptor, messages] in
      var chunk = [UInt8](repeating: 0, count: 4096)
      while case let count = recv(descriptor, &chunk, chunk.count, 0), count > 0 {
        let text = String(decoding: chunk[..<count], as: UTF8.self)
        messages.change { $0.append(text) }
      }
      close(descriptor)
    }
  }

  deinit { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
