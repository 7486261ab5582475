import Glibc

/// The error numbers that injected faults fail with.
enum ErrorNumber {
  /// The device reports an error.
  static let device = EIO
  static let noSpace = ENOSPC
}
