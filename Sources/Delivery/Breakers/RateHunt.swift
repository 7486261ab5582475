/// Finds out, after a 429, whether an install is the cause or the key: halves what was refused, by installs.
///
/// | 429 for | when | step |
/// |---|---|---|
/// | several installs | | halved |
/// | one install | something of others passed since the last lone one, or it is the first | it is parked, the others go on |
/// | anything | after a lone install, nothing having passed since | the key is the cause |
/// | (all parts passed) | no install was found alone | the key was the cause |
struct RateHunt: Sendable, Equatable {
  enum Step: Sendable, Equatable {
    case halve
    case park
    case keyIsCause
  }

  private(set) var isActive = false
  /// Events of the key that counted when it was first refused.
  private(set) var used = 0
  private var hasPassed = false
  private var hasLoneInstall = false
  private var hasCulprit = false

  /// - Parameter used: events of the key that count, those of this request left out.
  mutating func refused(installs: Int, used: Int) -> Step {
    if !isActive {
      self = RateHunt()
      isActive = true
      self.used = used
    }
    if hasLoneInstall, !hasPassed { return .keyIsCause }
    if installs > 1 { return .halve }
    if hasLoneInstall { hasCulprit = true }
    hasLoneInstall = true
    hasPassed = false
    return .park
  }

  /// Something passed.
  mutating func passed() {
    guard isActive else { return }
    hasPassed = true
    if hasLoneInstall { hasCulprit = true }
  }

  /// All parts have been sent, or the key was found to be the cause; tells whether it was.
  mutating func end() -> Bool {
    defer { self = RateHunt() }
    return isActive && !hasCulprit && (hasPassed || hasLoneInstall)
  }
}
