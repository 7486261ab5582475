import Clocks

/// What a log directory holds, as ``LogInspection`` finds it. Holds no event's content.
public struct LogReport: Sendable, Equatable {
  /// The directory of the segments.
  public var directory: String
  public var formatVersion: Int
  public var segments: [SegmentReport] = []
  /// Apps with events in the log, by name.
  public var apps: [AppReport] = []
  public var damages: [DamageReport] = []
  /// Files kept to be written over.
  public var spareFiles = 0
  /// Torn writes and damaged segments that were set aside earlier.
  public var filesSetAside: [String] = []
  /// Whether every checksum was looked at, or only those of what had to be read.
  public var isVerified: Bool

  public var frames: Int { segments.reduce(0) { $0 + $1.frames } }
  public var events: Int { segments.reduce(0) { $0 + $1.events } }
  public var sizeBytes: Int { segments.reduce(0) { $0 + $1.sizeBytes } }
  /// Bytes of the finished segments that nobody is owed anything of: kept for replay.
  public var retainedBytes: Int { segments.reduce(0) { $0 + ($1.isRetained ? $1.sizeBytes : 0) } }
  public var firstSequence: UInt64? { segments.first { $0.events > 0 }?.firstSequence }
  public var lastSequence: UInt64? { segments.last { $0.events > 0 }?.lastSequence }
  public var lostEvents: Int { damages.reduce(0) { $0 + $1.lostEvents } }
  public var isDamaged: Bool { !damages.isEmpty }

  public struct SegmentReport: Sendable, Equatable {
    public enum State: String, Sendable {
      /// Finished, with a footer.
      case sealed
      /// Written to, or was when its relay ended.
      case active
      /// Finished, its footer damaged.
      case withoutFooter = "without_footer"
    }

    /// The file's name.
    public var file: String
    public var number: UInt64
    public var state: State
    public var sizeBytes: Int
    /// Bytes up to where the frames end.
    public var dataBytes: Int
    public var frames: Int
    public var events: Int
    /// Of its first and last event; nil when it has none.
    public var firstSequence, lastSequence: UInt64?
    public var oldestReceivedAt, newestReceivedAt: Timestamp?
    /// Bytes behind the frames that belong to a write which has not ended: torn, or going on just now.
    public var unfinishedBytes: Int
    /// Everybody had settled all of it, and all before it: it is kept for replay alone.
    public var isRetained = false
  }

  public struct AppReport: Sendable, Equatable {
    /// Empty where damage left no name.
    public var name: String
    public var frames: Int
    public var events: Int
    public var firstSequence, lastSequence: UInt64
    public var oldestReceivedAt, newestReceivedAt: Timestamp?
    public var earliestOccurredAt, latestOccurredAt: Timestamp?
  }

  public struct DamageReport: Sendable, Equatable {
    /// The file's name.
    public var file: String
    public var offset: Int
    public var bytes: Int
    /// What is damaged, in words.
    public var detail: String
    /// The numbers of the events that are gone; nil when none is.
    public var lostSequences: ClosedRange<UInt64>?
    /// Whose they were, where that can be told.
    public var app: String?

    public var lostEvents: Int { lostSequences.map { Int($0.upperBound - $0.lowerBound) + 1 } ?? 0 }
  }
}
