import Torture

/// Tells a run's news to the user: a line that changes on a terminal, and each fault when it is wanted.
struct TortureTeller: Sendable {
  private let progress: Progress
  private let isVerbose: Bool

  init(_ progress: Progress, isVerbose: Bool) {
    self.progress = progress
    self.isVerbose = isVerbose
  }

  func tell(_ news: TortureNews) {
    switch news {
    case .began(let directory): progress.say("in \(PrintableText.of(directory))")
    case .progress(let share, let debts, let faults):
      progress.show(share: share, "\(debts) events promised, \(faults) faults")
    case .fault(let fault, let moment, let detail):
      guard isVerbose else { return }
      let time = Double(Int(moment / .milliseconds(100))) / 10
      progress.say("\(time) s  \(fault.rawValue)\(detail.isEmpty ? "" : ": \(PrintableText.of(detail))")")
    case .stage(let text):
      if isVerbose { progress.say(text) } else { progress.show(share: nil, text) }
    }
  }
}
