import Glibc

/// What the shim recorded of one or more processes, in the order in which it happened.
public struct Journal: Sendable {
  /// The file's bytes; written data stands in them.
  public let bytes: [UInt8]
  public private(set) var records: [JournalRecord] = []
  /// Where each record ends in the file: a cut right after it leaves what was done up to there.
  public private(set) var ends: [Int] = []

  /// Reads a journal. The last record may be cut off: its process was killed.
  ///
  /// - Throws: ``JournalFault`` when there is anything else in it than records.
  public init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    var reader = JournalReader(bytes)
    while let record = try reader.next() {
      records.append(record)
      ends.append(reader.at)
    }
  }

  /// How many records were whole in the file when it had so many bytes.
  public func count(atLength length: Int) -> Int {
    var (low, high) = (0, ends.count)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] <= length { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The bytes of a journal's file now; 0 when there is none.
  public static func length(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}

/// What is wrong with a journal, and where.
public struct JournalFault: Error, CustomStringConvertible {
  public let description: String

  init(_ what: String, at offset: Int) { description = "the journal, at byte \(offset): \(what)" }
}
