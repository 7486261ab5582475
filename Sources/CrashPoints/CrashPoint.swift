/// A named place right before, in the middle of, or right after something that changes a file: tests have the process killed
/// there, and look at what the next start makes of it.
///
/// Its name tells what the file is, what is done to it, and the moment: `segment.write.before`. Every layer over the file
/// calls goes through here; a release build has no such places, and nothing of this in it but the plain call.
public enum CrashPoint {
  public enum Operation: Sendable, CaseIterable {
    case create, write, sync, truncate, allocate, rename, unlink, makeDirectory, removeDirectory, syncDirectory

    /// As it stands in a point's name.
    public var word: String {
      switch self {
      case .create: "create"
      case .write: "write"
      case .sync, .syncDirectory: "sync"
      case .truncate: "truncate"
      case .allocate: "allocate"
      case .rename: "rename"
      case .unlink: "unlink"
      case .makeDirectory: "make"
      case .removeDirectory: "remove"
      }
    }

    /// Whether it is done to a directory.
    public var isAboutDirectory: Bool {
      switch self {
      case .makeDirectory, .removeDirectory, .syncDirectory: true
      default: false
      }
    }
  }

  public enum Moment: String, Sendable, CaseIterable {
    case before
    /// Half of the bytes are written.
    case during
    /// Only reached when it went well.
    case after
  }

  #if CRASH_POINTS
    /// Whether this build has such places.
    public static let isBuilt = true

    /// Does something to a file between two such places.
    ///
    /// - Parameter other: the new name of what is renamed.
    public static func around<Result, Failure: Error>(
      _ operation: Operation, _ path: String, to other: String? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
      guard let plan = CrashPlan.current else { return try body() }
      plan.reach(.before, operation, path, to: other)
      let result = try body()
      plan.reach(.after, operation, path, to: other)
      return result
    }

    /// A write may end in its middle: `write` is asked to write so many of the bytes only when the process dies after it.
    public static func tear(_ path: String, _ count: Int, _ write: (Int) -> Void) {
      guard count > 1, let plan = CrashPlan.current else { return }
      plan.reach(.during, .write, path) { write(count / 2) }
    }

    /// A size or a time of the relay, and the small one that lets tests see in a moment what comes after a minute or
    /// megabytes otherwise.
    public static func eager<Value>(_ usual: Value, _ small: Value) -> Value {
      CrashPlan.current?.isEager == true ? small : usual
    }
  #else
    public static let isBuilt = false

    @inlinable @inline(__always)
    public static func around<Result, Failure: Error>(
      _ operation: Operation, _ path: String, to other: String? = nil, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result { try body() }

    @inlinable @inline(__always)
    public static func tear(_ path: String, _ count: Int, _ write: (Int) -> Void) {}

    @inlinable @inline(__always)
    public static func eager<Value>(_ usual: Value, _ small: Value) -> Value { usual }
  #endif
}
