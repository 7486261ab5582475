import Configuration
import Torture

/// What the command's line asks of a run.
struct TortureChoice {
  private(set) var options: TortureOptions

  init(_ arguments: Arguments) throws(CommandFailure) {
    var seed = UInt64.random(in: 1...999_999_999)
    if let text = arguments["seed"] {
      guard let given = UInt64(text) else {
        throw .usage("--seed wants a whole number from 0 to \(UInt64.max), not \(quoted(text))")
      }
      seed = given
    }
    options = TortureOptions(seed: seed)
    if let text = arguments["minutes"] {
      guard let minutes = Double(text), minutes > 0, minutes <= 100_000 else {
        throw .usage("--minutes wants a number above 0, at most 100000, such as 2, 0.5 or 90, not \(quoted(text))")
      }
      options.length = .milliseconds(Int(minutes * 60_000))
    }
    if let directory = arguments["dir"] { options.parent = directory }
    options.keepsDirectory = arguments.flag("keep")
    if let text = arguments["faults"] { options.faults = try Self.faults(text) }
    let least = TortureSchedule.shortest(options.faults)
    guard options.length >= least else {
      throw .usage(
        "--minutes is too short for \(options.faults.count) faults, which need \(DurationText.exact(least)): take more, "
          + "or fewer --faults")
    }
  }

  /// `kill,clock`, `all,-cursor`, `-cursor`.
  static func faults(_ text: String) throws(CommandFailure) -> Set<TortureFault> {
    let words = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    var chosen: Set<TortureFault> = words.first?.hasPrefix("-") == true ? Set(TortureFault.allCases) : []
    for word in words {
      if word == "all" {
        chosen = Set(TortureFault.allCases)
        continue
      }
      let isLess = word.hasPrefix("-")
      let name = isLess ? String(word.dropFirst()) : word
      guard let fault = TortureFault(rawValue: name) else {
        let names = TortureFault.allCases.map(\.rawValue)
        let meant = Spelling.nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
        throw .usage("--faults has no \(quoted(name))\(meant) --faults list lists them")
      }
      if isLess { chosen.remove(fault) } else { chosen.insert(fault) }
    }
    guard !chosen.isEmpty else { throw .usage("--faults leaves none; --faults list lists them") }
    return chosen
  }
}
