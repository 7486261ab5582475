/// Finds the event that makes the upstream fail with 5xx while it takes others.
///
/// | a 5xx for | when | step |
/// |---|---|---|
/// | a batch | fewer than three in a row | the same again |
/// | a batch | three and more | halved |
/// | a single event | three and more | it steps aside, the lane tries what follows |
/// | a suspect | others have passed since its last try, less than the third time | aside again |
/// | a suspect | the third time | poison |
/// | anything | a suspect stepped aside and nothing has passed since | the same again: an outage, not poison |
/// | others than suspects | for the third time since then | halved, or aside too: the next one may be like the first |
///
/// A suspect whose install has used its limit up is held until that allows its try, and isn't in the others' way.
///
/// While nothing passes, the suspects and what follows them are tried in turn, so that poisonous first events can't make an
/// outage last; only what fails while others pass is given up. A suspect may be overtaken by later events of its install.
///
/// Where a protocol has its upstream's faults step aside, a request does so as it is, is never halved nor given up, and is tried
/// again when its own delay is over. Nothing of its installs overtakes it. Since nothing is lost by it, what follows while nothing
/// passes steps aside at its first fault, so that many such requests in a row hold the others no longer than an outage would.
struct PoisonHunt: Sendable, Equatable {
  /// A single event that failed alone.
  struct Suspect: Sendable, Equatable {
    var portion: Portion
    /// How often it has failed alone, each time while others passed.
    var faults = 1
    /// Something of its lane has passed since.
    var othersPassed = false
    /// Of which nothing else goes meanwhile; none: it may be overtaken.
    var installs: Set<UInt64> = []

    init(portion: Portion, installs: Set<UInt64> = []) {
      self.portion = portion
      self.installs = installs
    }

    var number: UInt64 { portion.events.first ?? 0 }

    /// After one more try.
    init(_ suspect: Suspect, _ portion: Portion) {
      self = suspect
      self.portion = portion
    }
  }

  /// A suspect that may not be tried before.
  private struct Held: Sendable, Equatable {
    var suspect: Suspect
    var until: ContinuousClock.Instant
  }

  enum Step: Sendable, Equatable {
    case again
    case halve
    case stepAside
    case poison
  }

  static let faultsMin = 3
  static let suspectsMax = 16
  /// And of those that are never given up.
  static let asideMax = 256

  /// Those that may be tried.
  private(set) var suspects: [Suspect] = []
  private var held: [Held] = []
  /// Something has passed since the last suspect stepped aside.
  private(set) var hasPassed = true
  /// Faults of others since then, while nothing passed.
  private var faultsSince = 0
  private var isSuspectsTurn = false

  var isActive: Bool { count > 0 }
  var count: Int { suspects.count + held.count }
  var events: Int {
    suspects.reduce(0) { $0 + $1.portion.events.count } + held.reduce(0) { $0 + $1.suspect.portion.events.count }
  }

  /// What the suspects are made of.
  var portions: [Portion] { suspects.map(\.portion) + held.map(\.suspect.portion) }

  /// Installs of which nothing may go but a suspect.
  var installs: Set<UInt64> {
    var all: Set<UInt64> = []
    for suspect in suspects { all.formUnion(suspect.installs) }
    for entry in held { all.formUnion(entry.suspect.installs) }
    return all
  }

  /// The upstream failed with a portion; its count of faults includes this one.
  ///
  /// - Parameter whole: the installs of one that steps aside as it is; nil: a portion of several events is halved.
  mutating func fault(_ portion: Portion, whole: Set<UInt64>? = nil) -> Step {
    isSuspectsTurn = isActive
    if let whole { return stepAside(portion, whole) }
    guard portion.serverFaults >= Self.faultsMin else { return .again }
    if !hasPassed {
      faultsSince += 1
      guard faultsSince >= Self.faultsMin else { return .again }
    }
    guard portion.events.count > 1 || count < Self.suspectsMax else { return .again }
    faultsSince = 0
    if portion.events.count > 1 { return .halve }
    suspects.append(Suspect(portion: portion))
    hasPassed = false
    return .stepAside
  }

  private mutating func stepAside(_ portion: Portion, _ installs: Set<UInt64>) -> Step {
    let isOneOfMany = isActive && !hasPassed
    guard portion.serverFaults >= Self.faultsMin || isOneOfMany, count < Self.asideMax else { return .again }
    suspects.append(Suspect(portion: portion, installs: installs))
    hasPassed = false
    return .stepAside
  }

  /// The upstream failed with a suspect, which was taken out to be tried.
  mutating func fault(_ suspect: Suspect) -> Step {
    isSuspectsTurn = false
    var suspect = suspect
    if suspect.othersPassed {
      suspect.faults += 1
      if suspect.faults >= Self.faultsMin { return .poison }
      suspect.othersPassed = false
      hasPassed = false
    }
    suspects.append(suspect)
    return .stepAside
  }

  /// The upstream failed with a suspect that is never given up, while others passed: it is tried again, no sooner than then.
  mutating func failedAlone(_ suspect: Suspect, until moment: ContinuousClock.Instant) {
    isSuspectsTurn = false
    var suspect = suspect
    suspect.othersPassed = false
    held.append(Held(suspect: suspect, until: moment))
  }

  /// Puts a suspect back whose try said nothing about it.
  mutating func putBack(_ suspect: Suspect) {
    isSuspectsTurn = false
    suspects.insert(suspect, at: 0)
  }

  /// Puts a suspect back that may not be tried before a moment.
  mutating func hold(_ suspect: Suspect, until moment: ContinuousClock.Instant) {
    held.append(Held(suspect: suspect, until: moment))
  }

  /// When the next of those that are held may be tried; nil: none is.
  var nextDue: ContinuousClock.Instant? { held.lazy.map(\.until).min() }

  /// Lets those be tried whose moment has come.
  mutating func release(at now: ContinuousClock.Instant) {
    guard let due = nextDue, due <= now else { return }
    suspects += held.filter { $0.until <= now }.map(\.suspect)
    held.removeAll { $0.until <= now }
  }

  /// Limits have changed: those that are held are looked at now.
  mutating func lookAgain() {
    suspects += held.map(\.suspect)
    held = []
  }

  /// Something passed.
  mutating func passed() {
    guard isActive || !hasPassed else { return }
    hasPassed = true
    faultsSince = 0
    for index in suspects.indices { suspects[index].othersPassed = true }
    for index in held.indices { held[index].suspect.othersPassed = true }
  }

  /// Whether a suspect is to be tried next.
  ///
  /// - Parameter hasOthers: there is something else of the lane to send.
  func isDue(hasOthers: Bool) -> Bool {
    !suspects.isEmpty && (!hasOthers || isSuspectsTurn || suspects.contains(where: \.othersPassed))
  }

  /// What a suspect is made of that holds an event.
  func portion(holding number: UInt64) -> Portion? {
    (suspects + held.map(\.suspect)).first { $0.portion.events.holds(number) }?.portion
  }

  /// Takes out the suspect to be tried next.
  mutating func takeNext() -> Suspect? {
    guard !suspects.isEmpty else { return nil }
    // Of those that others have passed, the oldest: after an outage they go in their order.
    let due = suspects.indices.filter { suspects[$0].othersPassed }
    return suspects.remove(at: due.min { suspects[$0].number < suspects[$1].number } ?? 0)
  }
}
