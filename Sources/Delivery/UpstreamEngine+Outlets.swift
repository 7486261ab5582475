import Dialects

// Upstreams beside one another: none is in another's way.
extension UpstreamEngine {
  func outlet(_ id: OutletID) -> Outlet {
    if let known = outlets.first(where: { $0.id == id }) { return known }
    let made = Outlet(id)
    outlets.append(made)
    return made
  }

  var usualOutlet: OutletID { OutletID(usual.configuration) }

  /// Every key in use, of all upstreams.
  var allKeys: [SendingKey] { outlets.flatMap(\.keys.values) }

  var isQueueEmpty: Bool { outlets.allSatisfy(\.queue.isEmpty) }

  /// Whether one more request may be under way to an upstream.
  ///
  /// - Parameter half: of its share.
  func hasRoom(_ outlet: Outlet, half: Bool = false) -> Bool {
    let parts = half ? 2 * shares : shares
    return outlet.inFlight < max(half ? 0 : 1, Self.inFlightMax / parts)
      && outlet.inFlightBytes < Self.inFlightBytesMax / parts
  }

  /// The lane that sends next: the upstreams take turns, as far as they have room.
  func nextInQueue() -> DeliveryLane? {
    for step in 0..<outlets.count {
      let at = (nextOutlet + step) % outlets.count
      let outlet = outlets[at]
      guard !outlet.queue.isEmpty, hasRoom(outlet) else { continue }
      nextOutlet = at + 1
      return switch order {
      case .arrival: outlet.queue.popFirst()
      case .oldestFirst: outlet.queue.popLeast(\.oldest)
      }
    }
    return nil
  }

  /// Lets go of keys that nothing is sent with, and of upstreams that nobody sends to.
  func forgetIdleKeys() {
    let now = now
    for outlet in outlets {
      outlet.keys = outlet.keys.filter { !$0.value.isIdle(at: now) || $0.value.timer != nil }
    }
    let used = Set(([usual] + own.values).map { OutletID($0.configuration) } + lanes.values.map(\.outlet.id))
    outlets.removeAll { $0.keys.isEmpty && $0.inFlight == 0 && $0.queue.isEmpty && !used.contains($0.id) }
  }
}

extension AppUpstream {
  static func own(_ upstreams: Upstreams) -> [String: AppUpstream] {
    Dictionary(uniqueKeysWithValues: upstreams.byApp.map { ($0.key, AppUpstream($0.value, owner: $0.key)) })
  }
}

extension Upstreams {
  /// How many different upstreams there are.
  var outlets: Int { Set(all.map(OutletID.init)).count }
}
