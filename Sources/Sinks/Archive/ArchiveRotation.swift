import Archive
import Clocks

/// When an archive's open file ends: facts in, a decision out.
///
/// A file ends with its slot (slots of `every` are counted from 1970-01-01T00:00:00Z, so that an hour's begin on the hour),
/// and once it has reached its size. How much a line adds to a gzip file shows only later, so that a file may be larger by
/// what one batch adds.
struct ArchiveRotation: Sendable, Equatable {
  /// Compressed bytes; 0 or less: no limit.
  var size: Int
  /// 0 or less: no slots.
  var every: Duration

  /// Events of a slot may still come so long after it.
  static let grace: Duration = .seconds(2)

  /// When the slot of a moment ends; the latest moment there is when it never does.
  func slotEnd(of moment: Timestamp) -> Timestamp {
    let length = every.milliseconds
    guard length > 0, moment.milliseconds <= Int64.max - length else { return Timestamp(milliseconds: .max) }
    return Timestamp(milliseconds: moment.milliseconds - moment.milliseconds.modulo(length) + length)
  }

  /// Whether an event goes to a new file, by when it was received.
  func isBehind(_ file: ArchiveWriter.OpenFile, _ receivedAt: Timestamp) -> Bool {
    receivedAt >= slotEnd(of: file.time)
  }

  func isFull(_ file: ArchiveWriter.OpenFile) -> Bool { size > 0 && file.bytes >= size }

  /// Whether a file ends though no event comes.
  ///
  /// - Parameter age: how long it has been open, by a clock that doesn't jump: the wall clock may have been ahead when the
  ///   file got its time.
  func isOver(_ file: ArchiveWriter.OpenFile, age: Duration, now: Timestamp) -> Bool {
    guard every > .zero else { return false }
    return now - Self.grace >= slotEnd(of: file.time) || age >= every + Self.grace
  }
}
