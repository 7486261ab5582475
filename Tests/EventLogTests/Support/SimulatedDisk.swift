import Glibc
import Synchronization
import TestSupport

@testable import EventLog

/// A disk in memory that forgets what wasn't synced when its power is cut, and fails when told to.
///
/// A cut decides for each unsynced sector of 512 bytes whether it kept the new bytes, the old ones, or garbage; for each
/// directory how many of its unsynced changes, in their order, came through.
final class SimulatedDisk: Disk {
  static let sector = 512

  final class Inode {
    /// What the process sees, and what survives.
    var bytes: [UInt8] = []
    var durable: [UInt8] = []
    var dirty: Set<Int> = []
    /// Sectors of a failed sync: they look written, and no later sync writes them.
    var forgotten: Set<Int> = []

    func cutPower(_ random: inout SeededGenerator) {
      let size = bytes.count == durable.count || random.next() % 2 == 0 ? bytes.count : durable.count
      var after = durable
      if after.count < size { after += [UInt8](repeating: 0, count: size - after.count) }
      after.removeLast(after.count - size)
      for sector in dirty.union(forgotten).sorted() {
        let from = sector * SimulatedDisk.sector
        let to = min(from + SimulatedDisk.sector, size)
        guard from < to else { continue }
        let fate = random.next() % 16
        if dirty.contains(sector) && fate < 8 {
          after.replaceSubrange(from..<min(to, bytes.count), with: bytes[from..<min(to, bytes.count)])
        } else if fate == 15 {
          for at in from..<to { after[at] = UInt8(truncatingIfNeeded: random.next()) }
        }
      }
      bytes = after
      durable = after
      dirty = []
      forgotten = []
    }
  }

  enum Change {
    case put(String, Inode)
    case remove(String)
    case rename(String, to: String, Inode)

    func apply(to names: inout [String: Inode]) {
      switch self {
      case .put(let path, let inode): names[path] = inode
      case .remove(let path): names[path] = nil
      case .rename(let path, let newPath, let inode):
        names[path] = nil
        names[newPath] = inode
      }
    }
  }

  struct State {
    var names: [String: Inode] = [:]
    var durableNames: [String: Inode] = [:]
    var changes: [String: [Change]] = [:]
    var free = 1 << 40
    /// Calls until one fails: of writes, of syncs, of anything that changes the disk.
    var writeFault: (after: Int, code: Int32)?
    var syncFault: (after: Int, code: Int32)?
    /// Writes that get nowhere, from the one after `writeFault` on.
    var refusedWrites: (count: Int, path: String, code: Int32)?
    var cutAfter: Int?
    /// Called before a directory is synced.
    var onSyncDirectory: (@Sendable () -> Void)?
    var isOff = false
    var operations = 0
  }

  // (Inode is only touched with the lock held.)
  let state = Mutex(State())

  // MARK: What tests do to it

  func failWrite(after count: Int, code: Int32 = EIO) { state.withLock { $0.writeFault = (count, code) } }
  func failSync(after count: Int, code: Int32 = EIO) { state.withLock { $0.syncFault = (count, code) } }
  /// Whether the sync that is to fail hasn't come.
  var hasSyncToFail: Bool { state.withLock { $0.syncFault != nil } }
  func clearFaults() {
    state.withLock {
      $0.writeFault = nil
      $0.syncFault = nil
      $0.refusedWrites = nil
    }
  }
  /// Refuses so many writes whole, those after the one that ``failWrite(after:code:)`` cuts in half.
  func refuseWrites(_ count: Int, to path: String = "", code: Int32 = ENOSPC) {
    state.withLock { $0.refusedWrites = (count, path, code) }
  }
  /// Does something else whenever a directory is about to be synced; nil: nothing any more.
  func beforeSyncDirectory(_ body: (@Sendable () -> Void)?) { state.withLock { $0.onSyncDirectory = body } }
  func setFree(_ bytes: Int) { state.withLock { $0.free = bytes } }
  /// From the n-th change on, nothing works any more until power comes back.
  func cutPower(afterChanges count: Int) { state.withLock { $0.cutAfter = count } }
  var operations: Int { state.withLock { $0.operations } }

  /// Cuts the power, if it isn't off yet, and switches it on again.
  func powerCycle(_ random: inout SeededGenerator) {
    var copy = random
    state.withLock { state in
      for (_, changes) in state.changes.sorted(by: { $0.key < $1.key }) {
        for change in changes.prefix(Int(copy.next() % UInt64(changes.count + 1))) {
          change.apply(to: &state.durableNames)
        }
      }
      state.changes = [:]
      state.names = state.durableNames
      for (_, inode) in state.names.sorted(by: { $0.key < $1.key }) { inode.cutPower(&copy) }
      state.isOff = false
      state.cutAfter = nil
      state.writeFault = nil
      state.syncFault = nil
    }
    random = copy
  }

  /// As if no directory below a path had ever been synced.
  func forgetNames(below path: String) {
    state.withLock { state in
      for (name, inode) in state.names where name.hasPrefix(path) {
        state.durableNames[name] = nil
        state.changes[Self.directory(of: name), default: []].append(.put(name, inode))
      }
    }
  }

  func bytes(of path: String) -> [UInt8]? { state.withLock { $0.names[path]?.bytes } }

  var paths: [String] { state.withLock { $0.names.keys.sorted() } }

  /// Changes what lies in a file behind everybody's back.
  func corrupt(_ path: String, _ change: (inout [UInt8]) -> Void) {
    state.withLock { state in
      guard let inode = state.names[path] else { return }
      change(&inode.bytes)
      inode.durable = inode.bytes
      inode.dirty = []
    }
  }

  // MARK: Disk

  static func change(_ state: inout State, _ operation: DiskError.Operation, _ path: String) throws(DiskError) {
    state.operations += 1
    if let left = state.cutAfter {
      if left <= 0 { state.isOff = true }
      state.cutAfter = left - 1
    }
    if state.isOff { throw DiskError(operation, path, code: EIO) }
  }

  private static func directory(of path: String) -> String { String(path[..<path.lastIndex(of: "/")!]) }

  func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    try state.withLock { state throws(DiskError) -> SimulatedFile in
      if mode == .create {
        try Self.change(&state, .create, path)
        let inode = state.names[path] ?? Inode()
        if state.names[path] == nil {
          state.names[path] = inode
          state.changes[Self.directory(of: path), default: []].append(.put(path, inode))
        }
        inode.bytes = []
        inode.dirty = []
        return SimulatedFile(self, inode, path)
      }
      guard !state.isOff, let inode = state.names[path] else { throw DiskError(.open, path, code: ENOENT) }
      return SimulatedFile(self, inode, path)
    }
  }

  func rename(_ path: String, to newPath: String) throws(DiskError) {
    try state.withLock { state throws(DiskError) in
      try Self.change(&state, .rename, path)
      guard let inode = state.names[path] else { throw DiskError(.rename, path, code: ENOENT) }
      state.names[path] = nil
      state.names[newPath] = inode
      state.changes[Self.directory(of: path), default: []].append(.rename(path, to: newPath, inode))
    }
  }

  func unlink(_ path: String) throws(DiskError) {
    try state.withLock { state throws(DiskError) in
      try Self.change(&state, .unlink, path)
      guard state.names.removeValue(forKey: path) != nil else { throw DiskError(.unlink, path, code: ENOENT) }
      state.changes[Self.directory(of: path), default: []].append(.remove(path))
    }
  }

  func syncDirectory(_ path: String) throws(DiskError) {
    state.withLock { $0.onSyncDirectory }?()
    try state.withLock { state throws(DiskError) in
      try Self.change(&state, .sync, path)
      for change in state.changes.removeValue(forKey: path) ?? [] {
        change.apply(to: &state.durableNames)
      }
    }
  }

  func list(_ path: String) throws(DiskError) -> [String] {
    state.withLock { state in
      state.names.keys.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.utf8.count + 1)) }
    }
  }

  func makeDirectory(_ path: String) throws(DiskError) {}

  func removeDirectory(_ path: String) throws(DiskError) {}

  func freeSpace(_ path: String) throws(DiskError) -> UInt64 { state.withLock { UInt64($0.free) } }
}

/// An open file of the simulated disk.
///
/// `@unchecked`: its inode is only touched with the disk's lock held.
final class SimulatedFile: DiskFile, @unchecked Sendable {
  let path: String
  private let disk: SimulatedDisk
  private let inode: SimulatedDisk.Inode

  init(_ disk: SimulatedDisk, _ inode: SimulatedDisk.Inode, _ path: String) {
    self.disk = disk
    self.inode = inode
    self.path = path
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
    try disk.state.withLock { state throws(DiskError) in
      if state.isOff { throw DiskError(.read, path, code: EIO) }
      let count = max(0, min(buffer.count, inode.bytes.count - offset))
      guard count > 0 else { return 0 }
      inode.bytes.withUnsafeBytes { bytes in
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
      }
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
    try disk.state.withLock { state throws(DiskError) in
      try SimulatedDisk.change(&state, .write, path)
      if let fault = state.writeFault {
        state.writeFault = fault.after > 0 ? (fault.after - 1, fault.code) : nil
        if fault.after == 0 {
          // Half of it got there.
          put(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
          throw DiskError(.write, path, code: fault.code)
        }
      } else if let refused = state.refusedWrites, refused.count > 0,
        refused.path.isEmpty || path.contains(refused.path)
      {
        state.refusedWrites?.count -= 1
        throw DiskError(.write, path, code: refused.code)
      }
      let growth = offset + bytes.count - inode.bytes.count
      if growth > state.free { throw DiskError(.write, path, code: ENOSPC) }
      state.free -= max(0, growth)
      put(bytes, at: offset)
    }
  }

  private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard !bytes.isEmpty else { return }
    if inode.bytes.count < offset + bytes.count { grow(to: offset + bytes.count) }
    inode.bytes.withUnsafeMutableBytes { target in
      UnsafeMutableRawBufferPointer(rebasing: target[offset..<offset + bytes.count]).copyMemory(from: bytes)
    }
    for sector in offset / SimulatedDisk.sector...(offset + bytes.count - 1) / SimulatedDisk.sector {
      inode.dirty.insert(sector)
      inode.forgotten.remove(sector)
    }
  }

  private func grow(to size: Int) {
    inode.bytes += [UInt8](repeating: 0, count: size - inode.bytes.count)
  }

  func syncData() throws(DiskError) {
    try disk.state.withLock { state throws(DiskError) in
      try SimulatedDisk.change(&state, .sync, path)
      if let fault = state.syncFault {
        state.syncFault = fault.after > 0 ? (fault.after - 1, fault.code) : nil
        if fault.after == 0 {
          inode.forgotten.formUnion(inode.dirty)
          inode.dirty = []
          throw DiskError(.sync, path, code: fault.code)
        }
      }
      let old = inode.durable
      inode.durable = inode.bytes
      for sector in inode.forgotten {
        let range = sector * SimulatedDisk.sector..<min((sector + 1) * SimulatedDisk.sector, inode.bytes.count)
        for at in range { inode.durable[at] = at < old.count ? old[at] : 0 }
      }
      inode.dirty = []
    }
  }

  func truncate(to size: Int) throws(DiskError) {
    try disk.state.withLock { state throws(DiskError) in
      try SimulatedDisk.change(&state, .truncate, path)
      if size > inode.bytes.count { grow(to: size) } else { inode.bytes.removeLast(inode.bytes.count - size) }
    }
  }

  func allocate(_ size: Int) throws(DiskError) {
    try disk.state.withLock { state throws(DiskError) in
      try SimulatedDisk.change(&state, .allocate, path)
      let growth = size - inode.bytes.count
      guard growth <= state.free else { throw DiskError(.allocate, path, code: ENOSPC) }
      guard growth > 0 else { return }
      state.free -= growth
      grow(to: size)
    }
  }

  func size() throws(DiskError) -> Int { disk.state.withLock { _ in inode.bytes.count } }
}
