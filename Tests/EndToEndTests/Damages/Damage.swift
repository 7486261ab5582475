import Foundation
import TestSupport

/// What may happen to a file while no relay runs.
enum Damage: String, Sendable, CaseIterable {
  case bit = "a bit flipped"
  case cut = "cut in half"
  case zeroes = "a page of zeros"
  case gone = "deleted"
  case directory = "a directory in its place"
  case nowhere = "a link to nowhere"
  case elsewhere = "a link to another file"
  case full = "a link to /dev/full"
  case pipe = "a pipe in its place"

  /// What links lead to; must stay as it is, or not come to be.
  static let outside = "outside.txt"
  static let outsideText = "somebody else's file\n"
  static let missing = "not-there.txt"

  /// Does it to a file of a test's directory.
  ///
  /// - Parameter place: the byte that is hit; nil: one in the middle.
  func strike(_ path: String, at place: Int?, in directory: TemporaryDirectory) throws {
    switch self {
    case .bit: try CrashScene.change(path) { $0[place ?? $0.count / 2] ^= 4 }
    case .cut: try CrashScene.change(path) { $0.removeLast(($0.count + 1) / 2) }
    case .zeroes:
      try CrashScene.change(path) { bytes in
        let start = (place ?? bytes.count / 2) / 4096 * 4096
        for at in start..<min(start + 4096, bytes.count) { bytes[at] = 0 }
      }
    case .gone: try remove(path)
    case .directory:
      try remove(path)
      guard mkdir(path, 0o700) == 0 else { throw TestFailure("can't make \(path)") }
    case .nowhere: try link(path, to: directory.file(Self.missing))
    case .elsewhere:
      _ = directory.write(Self.outside, Self.outsideText)
      try link(path, to: directory.file(Self.outside))
    case .full: try link(path, to: "/dev/full")
    case .pipe:
      try remove(path)
      guard mkfifo(path, 0o600) == 0 else { throw TestFailure("can't make \(path)") }
    }
  }

  private func remove(_ path: String) throws {
    guard unlink(path) == 0 else { throw TestFailure("can't remove \(path)") }
  }

  private func link(_ path: String, to target: String) throws {
    try remove(path)
    guard symlink(target, path) == 0 else { throw TestFailure("can't make \(path)") }
  }
}
