import EventLog
import Glibc
import Records

/// Damages the log of a relay that is stopped, and puts back older positions, noting what that may cost. Blocks in file calls.
struct LogDamager {
  /// How many copies of the positions are kept.
  private static let copiesMax = 40

  let setup: TortureSetup
  let mint: EventMint
  private(set) var account = LossAccount()
  private var copies: [Int] = []
  private var nextCopy = 0

  init(_ setup: TortureSetup, _ mint: EventMint) {
    self.setup = setup
    self.mint = mint
  }

  /// Damages a place of the log.
  /// - Returns: what was done, in words; nil when there is no place for it.
  mutating func damage(_ fault: TortureFault, roll: UInt64) throws(TortureError) -> String? {
    do {
      let view = try LogView.read(setup.data)
      let records = try view.records()
      func owes(_ name: String, _ sequence: UInt64, _ app: String) -> Bool {
        view.destinations.contains { $0.name == name && $0.standing(app: app, sequence, place: nil) == .owed }
      }
      let plan = DamagePlan.draw(
        fault, records, knownThrough: view.knownThrough, next: view.nextSequence, roll: roll
      ) { record in
        TortureSetup.destinations.contains { name in record.sequences.contains { owes(name, $0, record.app) } }
      }
      guard let plan else { return nil }
      var held: [LossAccount.Held] = []
      for record in plan.hits { held += events(of: record) }
      account.damage(held, destinations: TortureSetup.destinations) { owes($0, $1.sequence, $1.app) }
      try apply(plan)
      let first = plan.hits.first?.sequences.lowerBound ?? 0
      let last = plan.hits.map(\.sequences.upperBound).max() ?? 0
      return "\(plan.segment) at \(plan.offset), events \(first) to \(last)"
    } catch let error as TortureError {
      throw error
    } catch {
      throw TortureError("can't damage the log: \(error)")
    }
  }

  private func events(of record: LogView.Record) -> [LossAccount.Held] {
    var bytes = [UInt8](repeating: 0, count: record.length)
    let path = "\(setup.data)/log/\(record.segment)"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor >= 0 {
      _ = pread(descriptor, &bytes, bytes.count, off_t(record.offset))
      close(descriptor)
    }
    return bytes.withUnsafeBytes { bytes in
      let ranges = FrameContents.events(bytes)
      return record.sequences.enumerated().map { index, sequence in
        let range = ranges.flatMap { index < $0.count ? $0[index] : nil }
        return LossAccount.Held(
          sequence: sequence, app: record.app, number: range.flatMap { Self.number(bytes, $0, mint) })
      }
    }
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ event: Range<Int>, _ mint: EventMint) -> Int? {
    if let id = JSONCutter.text("event_id", bytes, in: event) { return mint.number(ofID: id) }
    return JSONCutter.text("user_id", bytes, in: event).flatMap { mint.number(ofUser: $0) }
  }

  private func apply(_ plan: DamagePlan) throws(TortureError) {
    let path = "\(setup.data)/log/\(plan.segment)"
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw TortureError("can't open \(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    switch plan.kind {
    case .truncate:
      guard ftruncate(descriptor, off_t(plan.offset)) == 0 else {
        throw TortureError("can't truncate \(path): \(String(cString: strerror(errno)))")
      }
    case .flip(let bit):
      var byte: UInt8 = 0
      guard pread(descriptor, &byte, 1, off_t(plan.offset)) == 1 else { throw TortureError("can't read \(path)") }
      byte ^= 1 << bit
      guard pwrite(descriptor, &byte, 1, off_t(plan.offset)) == 1 else { throw TortureError("can't write \(path)") }
    }
  }

  // MARK: Positions

  /// Copies all positions, for a later ``restore(roll:)``.
  mutating func copyPositions() {
    let home = "\(setup.copies)/\(nextCopy)"
    guard (try? FileSystem.system.makeDirectories(home)) != nil else { return }
    for name in TortureSetup.destinations {
      guard let bytes = try? FileSystem.system.readWhole("\(setup.data)/positions/\(name).json") else { continue }
      try? FileSystem.system.replace("\(home)/\(name).json", with: bytes)
    }
    copies.append(nextCopy)
    nextCopy += 1
    if copies.count > Self.copiesMax {
      let old = copies.remove(at: copies.count / 2)
      for name in TortureSetup.destinations { unlink("\(setup.copies)/\(old)/\(name).json") }
      rmdir("\(setup.copies)/\(old)")
    }
  }

  /// Puts one destination's position back from an older copy.
  /// - Returns: what was done, in words; nil when there is no older copy that differs.
  mutating func restore(roll: UInt64) throws(TortureError) -> String? {
    var generator = SeededGenerator(seed: roll)
    for name in TortureSetup.destinations.shuffled(using: &generator) {
      let path = "\(setup.data)/positions/\(name).json"
      guard let now = try? FileSystem.system.readWhole(path) else { continue }
      for copy in copies.dropLast().shuffled(using: &generator) {
        guard let old = try? FileSystem.system.readWhole("\(setup.copies)/\(copy)/\(name).json"), old != now else {
          continue
        }
        do {
          try FileSystem.system.replace(path, with: old)
          try noteRestored(name)
        } catch {
          throw TortureError("can't put back \(path): \(error)")
        }
        return "\(name), from copy \(copy) of \(nextCopy)"
      }
    }
    return nil
  }

  private mutating func noteRestored(_ name: String) throws {
    let view = try LogView.read(setup.data)
    guard let destination = view.destinations.first(where: { $0.name == name }) else { return }
    let books = try destination.books()
    let ranges = try view.records().map(\.sequences)
    account.restore(name, lost: Int(books.ledger.settled[.lost]), missing: books.missing) { sequence, app in
      destination.standing(app: app, sequence, place: nil) == .owed && ranges.contains { $0.contains(sequence) }
    }
  }
}
