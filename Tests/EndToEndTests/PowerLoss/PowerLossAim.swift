import PowerLoss
import TestSupport

/// Something that has to come about in every round: where it hasn't by chance, further cuts are aimed at it.
enum PowerLossAim: Int, CaseIterable {
  /// The log's last write is torn.
  case tornWrite
  case withinRewriting, behindRewriting
  case withinReplay, behindReplay
  /// The power is cut again while the relay works on what the first cut left.
  case secondCut
  /// Of what a write of the log hadn't synced nothing is left.
  case lostWrite

  /// The first number of a cut that is aimed at something, and of how many there are for each thing.
  static let first = 1_000_000
  static let tries = 50

  init?(_ number: Int) {
    guard number >= Self.first else { return nil }
    self.init(rawValue: (number - Self.first) / Self.tries)
  }

  func number(_ attempt: Int) -> Int { Self.first + rawValue * Self.tries + attempt }

  /// Nil: any.
  var powerCut: PowerCut? {
    switch self {
    case .tornWrite: PowerCut(names: .inOrder, kept: 50, torn: 0, garbage: 0)
    case .lostWrite: PowerCut(names: .anySubset, kept: 0, torn: 0, garbage: 0)
    default: nil
    }
  }

  /// How many records are done then.
  func point(in moments: PowerLossMoments, _ random: inout SeededGenerator) -> Int {
    func some(_ places: some Collection<Int>) -> Int {
      places.isEmpty ? 0 : places[places.index(places.startIndex, offsetBy: random.below(places.count))]
    }
    switch self {
    case .tornWrite, .lostWrite: return some(moments.logSyncs)
    case .withinRewriting: return some(moments.rewritings.flatMap { $0.dropFirst() })
    case .behindRewriting:
      let first = moments.rewritings.map(\.upperBound).min() ?? moments.count
      return some(min(first + 1, moments.count)...moments.count)
    case .withinReplay: return some(moments.replays.dropFirst())
    case .behindReplay: return moments.count
    case .secondCut: return some(0...moments.count)
    }
  }

  /// Whether it is still to come.
  func isWanted(_ sums: PowerLossCuts.Sums, rewrites: Bool) -> Bool {
    switch self {
    case .tornWrite: sums.tornTails == 0
    case .withinRewriting: rewrites && sums.withinRewritings == 0
    case .behindRewriting: rewrites && sums.behindRewritings == 0
    case .withinReplay: sums.withinReplays == 0
    case .behindReplay: sums.behindReplays == 0
    case .secondCut: sums.second == 0
    case .lostWrite: false
    }
  }
}
