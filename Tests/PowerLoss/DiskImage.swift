/// What a directory holds: what a cut of power left of it.
public struct DiskImage: Sendable {
  public struct Entry: Sendable {
    /// Below the root; directories come before what is in them.
    public var path: String
    public var identity: FileIdentity
    /// Nil: a directory.
    public var content: [UInt8]?
  }

  public var root: FileIdentity
  public var entries: [Entry] = []

  public init(root: FileIdentity = FileIdentity(inode: 0, born: 0)) { self.root = root }

  /// All that names lead to from the root.
  init(root: FileIdentity, names: [Name: Int], nodes: [FileNode], content: (FileNode) -> [UInt8]) {
    self.root = root
    var children: [Int: [(name: String, node: Int)]] = [:]
    for (name, node) in names { children[name.directory, default: []].append((name.text, node)) }
    var open = [(path: "", node: DiskHistory.root)]
    while let (path, directory) = open.popLast() {
      for child in (children[directory] ?? []).sorted(by: { $0.name < $1.name }) {
        let node = nodes[child.node]
        let below = path.isEmpty ? child.name : "\(path)/\(child.name)"
        entries.append(
          Entry(path: below, identity: node.identity, content: node.isDirectory ? nil : content(node)))
        if node.isDirectory { open.append((below, child.node)) }
      }
    }
  }

  public subscript(path: String) -> [UInt8]? { entries.first { $0.path == path }?.content }
  public var paths: [String] { entries.map(\.path).sorted() }
}
