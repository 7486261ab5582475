import CrashPoints

/// How the file log keeps events; the keys of `log` in the relay's configuration.
public struct FileLogConfiguration: Sendable, Equatable {
  public enum Durability: String, Sendable, CaseIterable {
    /// On stable storage before the answer.
    case fsync
    /// In the operating system's hands before the answer, synced within a second: survives a crash of the process only.
    case os
  }

  public enum OnFull: String, Sendable, CaseIterable {
    case reject
    /// The oldest segment goes; what was still owed of it is counted for each destination.
    case dropOldest = "drop_oldest"
  }

  public var durability: Durability
  /// Bytes of a segment file. Taken as a quarter of `maxSize` when that is less, so that segments can come and go.
  public var segmentSize: Int
  /// Bytes of all segments together, spare ones left out.
  public var maxSize: Int
  public var onFull: OnFull
  /// Bytes that stay free on the disk: below it nothing is taken in. 0: no such mark.
  public var minFreeDisk: Int
  /// How long a finished segment that nobody is owed anything of stays, from the newest receipt in it; as long as there is
  /// room. Zero: it goes at once.
  public var retain: Duration

  public init(
    durability: Durability = .fsync, segmentSize: Int = 64 << 20, maxSize: Int = 8 << 30, onFull: OnFull = .reject,
    minFreeDisk: Int = 256 << 20, retain: Duration = .zero
  ) {
    self.durability = durability
    self.segmentSize = segmentSize
    self.maxSize = maxSize
    self.onFull = onFull
    self.minFreeDisk = minFreeDisk
    self.retain = retain
  }

  var effectiveSegmentSize: Int {
    aligned(max(4096, min(CrashPoint.eager(segmentSize, 128 << 10), maxSize / 4)))
  }
}

/// What only tests set otherwise.
struct FileLogTuning: Sendable {
  /// No threads: whoever appends does the writer's work, so that a run is the same every time.
  var isInline = false
  /// How long nothing is tried after the disk was full.
  var retryAfterNoSpace: Duration = .seconds(1)
  /// How long what is written may stay unsynced (durability `os`).
  var syncInterval: Duration = .seconds(1)
  /// A staging buffer's bytes; there are two.
  var stagingSize = 4 * 1024 * 1024
  /// How many ranges above its low-water mark a lane may have before it isn't read further.
  var intervalsMax = 262_144
  var sparesMax = 2
  /// A finished segment is rewritten when it holds no more than this part of its events that are owed ...
  var rewriteBelow = 0.125
  /// ... and that has not changed for so long ...
  var rewriteAfter = CrashPoint.eager(Duration.seconds(60), .milliseconds(50))
  /// ... and the log takes more than this part of its size.
  var rewriteAbove = CrashPoint.eager(0.25, 0)
  /// One that would be kept for replay all the same is rewritten only when what is owed takes more than this part.
  var rewriteKeptAbove = 0.5
  /// Holds events to be sent again, each with the number it first had.
  var holdsReplays = false
  /// The number of the first event that was being put in when the process ended, by someone who puts in again what isn't there;
  /// nil: nobody keeps track of that.
  var unsettledFrom: UInt64?
  /// Draws what names a segment's life.
  var random: @Sendable () -> UInt64 = {
    var generator = SystemRandomNumberGenerator()
    return generator.next()
  }
}
