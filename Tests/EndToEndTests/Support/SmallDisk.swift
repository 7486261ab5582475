import Foundation
import TestSupport

/// A file system of a few megabytes for one process, mounted where its data directory is, in a name space of its own.
struct SmallDisk: Sendable {
  /// What stands before the program's own words.
  let command: [String]
  private let mountPoint: String

  init(at mountPoint: String, megabytes: Int) throws {
    self.mountPoint = mountPoint
    guard mkdir(mountPoint, 0o700) == 0 else { throw TestFailure("can't make \(mountPoint)") }
    command =
      Self.unshare + [
        "/bin/sh", "-c", #"mount -t tmpfs -o size=\#(megabytes)m,mode=700 none "$0" && exec "$@""#, mountPoint,
      ]
  }

  private static let unshare = ["/usr/bin/unshare", "--user", "--map-root-user", "--mount"]

  /// Whether this system lets a test mount one: some forbid name spaces of users.
  static func isPossible() async -> Bool {
    let words = Array(unshare.dropFirst()) + ["/bin/sh", "-c", "mount -t tmpfs none /mnt"]
    guard let probe = try? ChildProcess(words, program: unshare[0]) else { return false }
    return await probe.wait() == 0
  }

  /// The root directory as the process sees it.
  func root(of process: ChildProcess) -> String { "/proc/\(process.id)/root" }

  private func filler(_ process: ChildProcess) -> String { "\(root(of: process))\(mountPoint)/filler" }

  /// Takes all the room that is left.
  func fill(of process: ChildProcess) throws {
    let descriptor = open(filler(process), O_WRONLY | O_CREAT | O_APPEND, 0o600)
    guard descriptor >= 0 else { throw TestFailure("can't write to the small disk") }
    defer { close(descriptor) }
    for size in [65536, 1024, 1] {
      let chunk = [UInt8](repeating: 0, count: size)
      while write(descriptor, chunk, size) == size {}
    }
  }

  /// Gives that room back.
  func empty(of process: ChildProcess) { unlink(filler(process)) }
}
