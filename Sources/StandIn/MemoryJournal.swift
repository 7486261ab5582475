/// A journal in memory that loses its oldest records when it gets too large.
final class MemoryJournal: Journal {
  private struct Piece {
    var first: UInt64
    var lines: [UInt8] = []
  }

  private(set) var next: UInt64 = 0
  var first: UInt64 { pieces.first?.first ?? next }
  private let bytesMax: Int
  private var pieces: [Piece] = []
  private var bytes = 0

  /// Bytes after which a new piece is begun.
  private var pieceBytes: Int { min(256 * 1024, max(1, bytesMax / 16)) }

  init(bytesMax: Int) { self.bytesMax = bytesMax }

  func append(_ lines: [UInt8], count: Int) {
    if let last = pieces.last, last.lines.count < pieceBytes {
      pieces[pieces.count - 1].lines += lines
    } else {
      pieces.append(Piece(first: next, lines: lines))
    }
    next += UInt64(count)
    bytes += lines.count
    while bytes > bytesMax, pieces.count > 1 { bytes -= pieces.removeFirst().lines.count }
  }

  func page(from sequence: UInt64, limit: Int, bytesMax: Int) -> JournalPage {
    var page = JournalPage(next: min(max(sequence, first), next))
    let start = pieces.lastIndex { $0.first <= page.next } ?? 0
    for piece in pieces.dropFirst(start) {
      let hasRoom = piece.lines.withUnsafeBytes {
        page.fill(from: $0, startingAt: piece.first, limit: limit, bytesMax: bytesMax)
      }
      if !hasRoom { break }
    }
    return page
  }
}
