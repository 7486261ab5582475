import Glibc
import JSON

extension TortureRun {
  /// How long a fault of the disk may take to come to pass.
  private static let faultLimit: Duration = .seconds(8)

  /// Makes one fault happen. What can't be just now is tried again at the end.
  func make(_ step: TortureSchedule.Step) throws(TortureError) {
    checkRelay()
    guard let child else { return try startRelay() }
    switch step.fault {
    case .reset, .stall, .error, .limit, .lie:
      // Both of the others, or one.
      if step.roll % 3 != 1 { upstream.script.misbehave(step.fault, for: step.length) }
      if step.roll % 3 != 2 { receiver.script.misbehave(step.fault, for: step.length) }
      tell(.fault(step.fault, at: passed, detail: ["both", "receiver", "upstream"][Int(step.roll % 3)]))
    case .kill, .restart:
      try stopRelay(kills: step.fault == .kill)
      note(step.fault)
      try startRelay()
    case .pause:
      child.signal(SIGSTOP)
      Pause.sleep(step.length)
      child.signal(SIGCONT)
      note(.pause)
    case .reload: try reload(child)
    case .diskFull:
      child.order(.full(true))
      Pause.sleep(step.length)
      child.order(.full(false))
      noteIfSeen(step.fault, child)
    case .slowSync:
      child.order(.slowSync(30 + Int(step.roll % 300)))
      Pause.sleep(step.length)
      child.order(.slowSync(0))
      noteIfSeen(step.fault, child)
    case .readError:
      child.order(.failReads(.log, 1 + Int(step.roll % 5)))
      child.order(.failReads(.files, Int(step.roll % 3)))
      Pause.sleep(step.length)
      child.order(.calm)
      noteIfSeen(step.fault, child)
    case .failedSync, .shortWrite: try failTheLog(step, child)
    case .clock: stepClock(step, child)
    case .truncate, .flip, .cursor: try stopAndDamage(step)
    }
  }

  private func noteIfSeen(_ fault: TortureFault, _ child: RelayChild) {
    // What it reports is on its way yet.
    if Pause.wait(within: .seconds(1), { child.count(fault) > 0 }) { note(fault) }
  }

  private func reload(_ child: RelayChild) throws(TortureError) {
    turn += 1
    try setup.writeConfiguration(turn: turn)
    do throws(TortureError) {
      let answer = try RelayCall.send(
        "POST", "/reload", toPort: child.adminPort, headers: ["Connection: close"], within: Self.faultLimit)
      if answer.status == 200 { return note(.reload) }
      incidents.append("a reload was answered with \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
    } catch {
      incidents.append("a reload had no answer: \(error)")
    }
  }

  /// A failed sync or write fails the log for good: after it the relay is to say so, and is started anew.
  private func failTheLog(_ step: TortureSchedule.Step, _ child: RelayChild) throws(TortureError) {
    let isSync = step.fault == .failedSync
    child.order(isSync ? .failSyncs(.files, 2) : .shortWrites(.files, 2))
    child.order(isSync ? .failSyncs(.log, 1) : .shortWrites(.log, 1))
    let hasFailed = Pause.wait(within: Self.faultLimit) {
      child.count(step.fault) > 0
        && child.status(within: .seconds(5))?["log"]?["health"]?.string == "failed"
    }
    child.order(.calm)
    guard hasFailed else { return }
    note(step.fault)
    try stopRelay(kills: step.roll % 2 == 0)
    try startRelay()
  }

  private func stepClock(_ step: TortureSchedule.Step, _ child: RelayChild) {
    let minutes: [Int64] = [-120, -11, -2, 0, 1, 7, 60, 180]
    clockOffset = minutes[Int(step.roll % UInt64(minutes.count))] * 60_000
    child.order(.clock(clockOffset))
    note(.clock, "\(clockOffset / 60_000) minutes off")
  }

  /// Stops the relay with something waiting, damages what lies there, and starts it again.
  private func stopAndDamage(_ step: TortureSchedule.Step) throws(TortureError) {
    for script in [upstream.script, receiver.script] { script.setAway(true) }
    defer { for script in [upstream.script, receiver.script] { script.setAway(false) } }
    if step.fault != .cursor { Pause.sleep(step.length) }
    try stopRelay(kills: step.roll % 2 == 0)
    let done =
      step.fault == .cursor
      ? try damager.restore(roll: step.roll) : try damager.damage(step.fault, roll: step.roll)
    if let done { note(step.fault, done) }
    try startRelay()
  }
}
