import Clocks
import EventLog
import Records

/// What a relay has around it: its disk, in the two shapes in which the rooms use it, and the wall clock.
///
/// The system's own, but in a relay that `event-relay torture` runs: there faults are put between.
public struct Surroundings: Sendable {
  /// What the log and the positions lie on.
  public var disk: any Disk
  /// What sinks, dead letters and counts are written through.
  public var files: FileSystem
  public var clock: WallClock

  public init(disk: any Disk, files: FileSystem, clock: WallClock) {
    self.disk = disk
    self.files = files
    self.clock = clock
  }

  public static let system = Surroundings(disk: RealDisk(), files: .system, clock: .system)
}
