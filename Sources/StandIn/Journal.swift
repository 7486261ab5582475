/// Keeps what was stored, in order, as lines.
protocol Journal: AnyObject {
  /// The number of the oldest record that is still there, and the one that the next gets.
  var first: UInt64 { get }
  var next: UInt64 { get }

  /// Stores lines together, or none of them.
  func append(_ lines: [UInt8], count: Int) throws(StandInError)

  /// Lines from a record on: at most so many, and no more once so many bytes are reached.
  func page(from sequence: UInt64, limit: Int, bytesMax: Int) throws(StandInError) -> JournalPage
}

/// Some of a journal's lines.
struct JournalPage: Equatable {
  /// Each ends in a line feed.
  var lines: [UInt8] = []
  var count = 0
  /// The number to go on with.
  var next: UInt64
}

extension JournalPage {
  /// Takes lines out of a piece of a journal until the page is full.
  ///
  /// - Parameter sequence: the number of the piece's first record.
  /// - Returns: whether there is room for more.
  mutating func fill(from piece: UnsafeRawBufferPointer, startingAt sequence: UInt64, limit: Int, bytesMax: Int) -> Bool
  {
    var sequence = sequence
    var start = 0
    while start < piece.count, count < limit, lines.count < bytesMax {
      guard let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) else { break }
      if sequence >= next {
        lines += piece[start...end]
        count += 1
        next = sequence + 1
      }
      sequence += 1
      start = end + 1
    }
    return count < limit && lines.count < bytesMax
  }
}
