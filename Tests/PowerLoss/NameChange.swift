/// A name in a directory, which is a node's number.
struct Name: Hashable {
  var directory: Int
  var text: String
}

/// A change of names. Each is there as a whole after a cut, or not at all.
struct NameChange {
  enum Kind {
    case bind(Name, node: Int)
    case move(Name, to: Name, node: Int)
    case unbind(Name, node: Int)
  }

  var serial: Int
  var kind: Kind
  /// Directories it isn't safe in yet: it is once each was synced.
  var unsynced: Set<Int>

  init(_ kind: Kind, serial: Int) {
    self.kind = kind
    self.serial = serial
    switch kind {
    case .bind(let name, _), .unbind(let name, _): unsynced = [name.directory]
    case .move(let name, let to, _): unsynced = [name.directory, to.directory]
    }
  }

  /// Carries it out, also where changes before it are missing: a node never has two names.
  func apply(to names: inout [Name: Int]) {
    switch kind {
    case .bind(let name, let node): names[name] = node
    case .unbind(let name, let node): if names[name] == node { names[name] = nil }
    case .move(_, let to, let node):
      for (name, other) in names where other == node { names[name] = nil }
      names[to] = node
    }
  }
}
