/// How many connections there are, and whether there may be one more.
struct ConnectionBook {
  /// What becomes of a new connection.
  enum Verdict: Sendable, Equatable {
    case taken
    /// There are as many as there may be.
    case full
    /// Its address has as many as one may have.
    case tooManyOfAddress
  }

  /// Connections at once, over all listeners.
  private(set) var limit: Int
  /// Those of one address; see ``HTTPServerConfiguration/maxConnectionsPerAddress``.
  private var perAddress: Int?
  private(set) var count = 0
  private var byNetwork: [PeerNetwork: Int] = [:]

  init(limit: Int, perAddress: Int?) {
    self.limit = limit
    self.perAddress = perAddress
  }

  /// Takes other limits; connections that are open stay.
  mutating func setLimits(_ limit: Int, perAddress: Int?) {
    self.limit = limit
    self.perAddress = perAddress
  }

  /// Connections that this address may have.
  func limit(of peer: PeerNetwork) -> Int {
    switch perAddress {
    case 0?: .max
    case let most?: most
    // This machine's senders all have the same address.
    case nil: peer.isLoopback ? .max : max(1, limit - limit / 4)
    }
  }

  /// Whether a new connection may be had.
  ///
  /// - Parameter peer: nil for a unix socket, which counts for the whole alone.
  func verdict(on peer: PeerNetwork?) -> Verdict {
    if let peer, byNetwork[peer, default: 0] >= limit(of: peer) { return .tooManyOfAddress }
    return count < limit ? .taken : .full
  }

  mutating func opened(_ peer: PeerNetwork?) {
    count += 1
    if let peer { byNetwork[peer, default: 0] += 1 }
  }

  mutating func closed(_ peer: PeerNetwork?) {
    count -= 1
    guard let peer, let left = byNetwork[peer] else { return }
    byNetwork[peer] = left > 1 ? left - 1 : nil
  }
}
