/// What a journal's records have done so far: what of it is safe, and what a cut of power may take.
public struct DiskHistory {
  var nodes: [FileNode] = []
  /// Names as the running program sees them, and those that syncs of their directories have promised.
  private(set) var names: [Name: Int] = [:]
  private(set) var durableNames: [Name: Int] = [:]
  private(set) var pendingNames: [NameChange] = []
  /// Up to here in the history a file system that commits its changes of names in their order has committed them all.
  private(set) var syncedNames = 0
  /// Records taken so far.
  public private(set) var serial = 0

  private let journal: Journal
  /// The nodes that have an inode now: numbers of files that are gone are given again.
  private var numbers: [UInt64: Int] = [:]
  private var syncs: [UInt64: Int] = [:]

  static let root = 0

  /// Begins before the journal's first record.
  /// - Parameter base: what the disk held then, all of it safe; an empty directory without one.
  public init(_ journal: Journal, from base: DiskImage = DiskImage()) {
    self.journal = journal
    nodes.append(FileNode(identity: base.root, isDirectory: true))
    numbers[base.root.inode] = Self.root
    for entry in base.entries {
      var node = FileNode(identity: entry.identity, isDirectory: entry.content == nil)
      node.durable = entry.content ?? []
      numbers[entry.identity.inode] = nodes.count
      nodes.append(node)
      if let name = try? name(entry.path) { names[name] = nodes.count - 1 }
    }
    durableNames = names
  }

  /// Takes the journal's records up to the n-th.
  /// - Throws: ``JournalFault`` when one can't be understood.
  public mutating func advance(to count: Int) throws {
    while serial < min(count, journal.records.count) {
      let record = journal.records[serial]
      serial += 1
      try apply(record)
    }
  }

  /// Everything that was done: what the directory holds when no power is cut.
  public var whole: DiskImage {
    DiskImage(root: nodes[Self.root].identity, names: names, nodes: nodes) { $0.current }
  }

  private mutating func apply(_ record: JournalRecord) throws {
    switch record {
    case .started: syncs = [:]
    case .created(let file, let path): try add(file, isDirectory: false, path)
    case .madeDirectory(let file, let path): try add(file, isDirectory: true, path)
    case .wrote(let inode, let offset, let bytes):
      change(inode, .write(offset: offset, count: bytes.count, bytes: journal.bytes[bytes]))
    case .zeroed(let inode, let offset, let count): change(inode, .write(offset: offset, count: count, bytes: nil))
    case .truncated(let inode, let size): change(inode, .resize(size))
    case .allocated(let inode, let size): change(inode, .allocate(size))
    case .renamed(let path, let to):
      let (from, target) = (try name(path), try name(to))
      guard let node = names[from] else { throw fault("\(path) is renamed and isn't there") }
      changeNames(.move(from, to: target, node: node))
    case .unlinked(let path), .removedDirectory(let path):
      let name = try name(path)
      guard let node = names[name] else { throw fault("\(path) is removed and isn't there") }
      changeNames(.unbind(name, node: node))
    case .syncBegan(_, let ticket): syncs[ticket] = serial
    case .syncReturned(let inode, let ticket):
      guard let began = syncs.removeValue(forKey: ticket) else { throw fault("a sync returns that never began") }
      if let node = numbers[inode] { finishSync(of: node, through: began) }
    case .unsupported(let what): throw fault("the program uses \(what), which the shim can't tell")
    }
  }

  private mutating func add(_ file: FileIdentity, isDirectory: Bool, _ path: String) throws {
    numbers[file.inode] = nodes.count
    nodes.append(FileNode(identity: file, isDirectory: isDirectory))
    changeNames(.bind(try name(path), node: nodes.count - 1))
  }

  private mutating func change(_ inode: UInt64, _ change: FileChange) {
    guard let node = numbers[inode] else { return }
    nodes[node].pending.append((serial, change))
  }

  private mutating func changeNames(_ kind: NameChange.Kind) {
    let change = NameChange(kind, serial: serial)
    change.apply(to: &names)
    pendingNames.append(change)
  }

  private mutating func finishSync(of node: Int, through began: Int) {
    guard nodes[node].isDirectory else { return nodes[node].makeDurable(through: began) }
    syncedNames = max(syncedNames, began)
    for at in pendingNames.indices where pendingNames[at].serial <= began { pendingNames[at].unsynced.remove(node) }
    for change in pendingNames where change.unsynced.isEmpty { change.apply(to: &durableNames) }
    pendingNames.removeAll { $0.unsynced.isEmpty }
  }

  private func name(_ path: String) throws -> Name {
    var directory = Self.root
    let parts = path.split(separator: "/").map(String.init)
    for part in parts.dropLast() {
      guard let next = names[Name(directory: directory, text: part)] else { throw fault("nothing holds \(path)") }
      directory = next
    }
    return Name(directory: directory, text: parts.last ?? "")
  }

  private func fault(_ what: String) -> JournalFault {
    JournalFault(what, at: serial == 0 ? 0 : journal.ends[serial - 1])
  }
}
