import Synchronization

/// An app's place in the table of names, for look-ups that must not hash names.
struct AppID: Hashable, Comparable {
  var raw: UInt32

  /// Stands for all apps together: the list of a segment's frames in their order.
  static let all = AppID(raw: 0)
  /// Whose frame is so damaged that its app can't be told.
  static let unknown = AppID(raw: 1)

  static func < (one: AppID, other: AppID) -> Bool { one.raw < other.raw }
}

/// The names of all apps that this process has seen in the log.
final class AppTable: Sendable {
  private struct State {
    var ids: [String: AppID] = [:]
    // What stands for all apps and for none has no name.
    var names = ["", ""]
  }

  private let state = Mutex(State())

  func id(of name: String) -> AppID {
    state.withLock { state in
      if let id = state.ids[name] { return id }
      let id = AppID(raw: UInt32(state.names.count))
      state.names.append(name)
      state.ids[name] = id
      return id
    }
  }

  func known(_ name: String) -> AppID? { state.withLock { $0.ids[name] } }

  func name(of id: AppID) -> String { state.withLock { $0.names[Int(id.raw)] } }

  var count: Int { state.withLock { $0.names.count - 2 } }
}
