/// A way into the program for bytes that somebody else chose.
///
/// A check takes any bytes. It throws a ``BrokenPromise`` where the program didn't keep what it promises, and returns when it
/// did, whether the bytes were taken or refused. A crash is what the fuzzer and the test see by themselves.
struct FuzzTarget: Sendable {
  /// The folder of its corpus, too.
  let name: String
  /// Bytes of the longest input that is tried.
  let bytesMax: Int
  let check: @Sendable (UnsafeRawBufferPointer) throws(BrokenPromise) -> Void

  static let all: [FuzzTarget] = [
    FuzzTarget(name: "head", bytesMax: 4096, check: checkHead),
    FuzzTarget(name: "request", bytesMax: 4096, check: RequestCheck.check),
    FuzzTarget(name: "decoding", bytesMax: 4096, check: checkDecoding),
    FuzzTarget(name: "document", bytesMax: 4096, check: checkDocument),
    FuzzTarget(name: "events", bytesMax: 10_000, check: checkEvents),
    FuzzTarget(name: "identify", bytesMax: 2048, check: checkIdentify),
    FuzzTarget(name: "datalyr", bytesMax: 4096, check: checkDatalyr),
    FuzzTarget(name: "voidhash", bytesMax: 4096, check: checkVoidhash),
    FuzzTarget(name: "segment", bytesMax: 8192, check: checkSegment),
    FuzzTarget(name: "positions", bytesMax: 4096, check: checkPositions),
    FuzzTarget(name: "replay-journal", bytesMax: 2048, check: checkReplayJournal),
    FuzzTarget(name: "ids", bytesMax: 2048, check: checkIDs),
    FuzzTarget(name: "stand-in-line", bytesMax: 2048, check: checkStandInLine),
    FuzzTarget(name: "manifest", bytesMax: 8192, check: checkManifest),
    FuzzTarget(name: "archive", bytesMax: 8192, check: checkArchive),
    FuzzTarget(name: "record", bytesMax: 4096, check: checkRecord),
    FuzzTarget(name: "configuration", bytesMax: 8192, check: checkConfiguration),
    FuzzTarget(name: "times", bytesMax: 256, check: checkTimes),
    FuzzTarget(name: "percent", bytesMax: 512, check: checkPercent),
    FuzzTarget(name: "answer", bytesMax: 4096, check: checkAnswer),
  ]

  static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// What the program promises and didn't keep, in words.
struct BrokenPromise: Error, CustomStringConvertible {
  let description: String
}

/// Throws unless it holds.
func promise(_ holds: Bool, _ what: @autoclosure () -> String) throws(BrokenPromise) {
  if !holds { throw BrokenPromise(description: what()) }
}

/// What must be there; throws when it isn't.
func promised<Value>(_ value: Value?, _ what: @autoclosure () -> String) throws(BrokenPromise) -> Value {
  guard let value else { throw BrokenPromise(description: what()) }
  return value
}
