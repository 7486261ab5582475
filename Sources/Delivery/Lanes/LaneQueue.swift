/// Lanes that want to send, first come, first served.
struct LaneQueue {
  private var lanes: [DeliveryLane] = []
  private var head = 0

  var isEmpty: Bool { head == lanes.count }

  mutating func append(_ lane: DeliveryLane) { lanes.append(lane) }

  mutating func popFirst() -> DeliveryLane? {
    guard head < lanes.count else { return nil }
    let lane = lanes[head]
    head += 1
    if head == lanes.count {
      lanes.removeAll(keepingCapacity: lanes.count <= 1024)
      head = 0
    } else if head >= 1024 {
      lanes.removeFirst(head)
      head = 0
    }
    return lane
  }

  mutating func remove(_ lane: DeliveryLane) {
    lanes = lanes[head...].filter { $0 !== lane }
    head = 0
  }

  /// Takes out the lane that comes first by a measure: looks at all of them.
  mutating func popLeast<Measure: Comparable>(_ measure: (DeliveryLane) -> Measure) -> DeliveryLane? {
    guard let at = (head..<lanes.count).min(by: { measure(lanes[$0]) < measure(lanes[$1]) }) else { return nil }
    lanes.swapAt(head, at)
    return popFirst()
  }
}
