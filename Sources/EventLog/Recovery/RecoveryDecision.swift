/// What to do with what stands at an offset of a segment that has no usable footer.
///
/// The table, which this code and its test mirror. *Frame follows*: a whole frame of this life stands somewhere behind.
/// *Below synced*: the offset lies below one that a frame of this life knew to be synced, or the segment is sealed, or
/// a position on disk is past the frame's numbers; so what stood there was on stable storage once.
///
/// | found   | frame follows | below synced | decision      | why                                                   |
/// |---------|---------------|--------------|---------------|-------------------------------------------------------|
/// | frame   | any           | any          | keep          | its checksums hold                                    |
/// | broken  | yes           | yes          | damage        | it was safe once: skip it, count it, name what is lost |
/// | broken  | yes           | no           | damage        | may have been answered; what follows is kept          |
/// | broken  | no            | yes          | damage        | it was safe once                                      |
/// | broken  | no            | no           | cut torn tail | a write that never ended: nobody was told it is safe  |
/// | nothing | yes           | any          | damage        | a hole where frames were                              |
/// | nothing | no            | yes          | damage        | the end was safe once                                 |
/// | nothing | no            | no           | end           | stale bytes or zeros: here the log ends               |
enum RecoveryDecision: Equatable {
  case keep
  case damage
  case cutTornTail
  case end

  enum Found: Equatable {
    /// A frame of this life, its checksums right.
    case frame
    /// Something of this life with a checksum that is wrong.
    case broken
    /// Nothing of this life: zeros, or what an earlier life left.
    case nothing
  }

  static func decide(_ found: Found, frameFollows: Bool, belowSynced: Bool) -> RecoveryDecision {
    switch (found, frameFollows, belowSynced) {
    case (.frame, _, _): .keep
    case (.broken, true, _), (.broken, _, true): .damage
    case (.broken, false, false): .cutTornTail
    case (.nothing, true, _), (.nothing, _, true): .damage
    case (.nothing, false, false): .end
    }
  }
}
