import Archive
import EventLog
import Glibc
import Records

extension TortureRun {
  /// Ends all faults, waits until all is settled, stops the relay, and reads what is where.
  func gatherEvidence() throws(TortureError) -> TortureEvidence {
    tell(.stage("faults are over; what waits is sent"))
    for script in [upstream.script, receiver.script] { script.calm() }
    if !senders.stop() { incidents.append("a sender doesn't end") }
    checkRelay()
    child?.order(.calm)
    try settle()
    try stopRelay(kills: false)
    tell(.stage("the proof"))
    let reader = EvidenceReader(setup, mint)
    var evidence = TortureEvidence(mint: mint, entries: book.all, destinations: [])
    var upstreamFound = DestinationEvidence(name: "upstream", role: .upstream, place: setup.relayLog)
    var hookFound = DestinationEvidence(name: "hook", role: .webhook, place: setup.relayLog)
    for (number, entry) in evidence.entries.enumerated() {
      if entry.upstream > 0 { upstreamFound.copies[number] = Int(entry.upstream) }
      if entry.hook > 0 { hookFound.copies[number] = Int(entry.hook) }
    }
    (upstreamFound.notes, hookFound.notes) = (upstream.arrivals, receiver.arrivals)
    evidence.destinations = [
      upstreamFound, reader.lineFiles("raw", excused: damager.account.excused["raw"] ?? []),
      reader.archive("audit"), hookFound,
    ]
    reader.addDeadLetters(&evidence.destinations)
    reader.addLedgers(&evidence.destinations)
    for index in evidence.destinations.indices {
      let name = evidence.destinations[index].name
      evidence.destinations[index].excused = damager.account.excusedNumbers(name)
      evidence.destinations[index].expectedLost = damager.account.expectedLost[name] ?? 0
      evidence.destinations[index].wasRestored = damager.account.restored.contains(name)
    }
    evidence.archiveFaults = reader.archiveFaults()
    evidence.logFaults = reader.logFaults(besides: damager.account)
    evidence.unnamedLosses = reader.unnamedLosses(damager.account)
    evidence.incidents = incidents + senders.counts.oddities
    evidence.faults = faults
    evidence.debtsWanted = min(1001, Int(options.length / .seconds(1)) * 10)
    return evidence
  }
}
