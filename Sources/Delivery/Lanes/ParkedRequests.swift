/// A lane's requests that wait because of their persons, where requests are kept apart: each goes out as it came, whole.
///
/// A request waits while one of its persons has a request under way, has one that stepped aside, or is in an earlier one that
/// waits. So nothing of a person overtakes anything of theirs, and the first one that waits of all its persons can always go
/// as soon as what is under way has an answer: none waits for ever, and no two wait for one another.
///
/// References only, no more of them than ``runsMax`` runs: past those the lane reads no further until some are gone.
struct ParkedRequests: Sendable {
  struct Request: Sendable, Equatable {
    var events: EventRanges
    var installs: Set<UInt64>
    /// How often it was sent before it had to wait.
    var tries = Tries()

    var number: UInt64 { events.first ?? 0 }
  }

  var runsMax: Int
  /// By their first events' numbers.
  private var requests: [UInt64: Request] = [:]
  /// By install, which requests with events of it wait, in ascending order.
  private var lines: [UInt64: Line] = [:]
  /// Those that may go, perhaps: whose persons' requests have been answered.
  private var ready: [UInt64] = []
  private(set) var count = 0
  private(set) var runs = 0

  init(runsMax: Int = ParkedEvents.runsMax) { self.runsMax = runsMax }

  var isEmpty: Bool { requests.isEmpty }
  var isFull: Bool { runs >= runsMax }
  var installCount: Int { lines.count }
  var isReady: Bool { !ready.isEmpty }
  var all: some Collection<Request> { requests.values }

  /// Whether an event has to wait behind a request that holds something of its install.
  func isBlocked(_ install: UInt64, _ number: UInt64) -> Bool {
    lines[install]?.first.map { $0 < number } ?? false
  }

  /// Has a request wait.
  ///
  /// - Parameter isReady: it may go as soon as something goes.
  mutating func park(_ request: Request, isReady: Bool = false) {
    guard !request.events.isEmpty, requests[request.number] == nil else { return }
    requests[request.number] = request
    for install in request.installs { lines[install, default: Line()].add(request.number) }
    count += request.events.count
    runs += request.events.runs.count
    if isReady { ready.append(request.number) }
  }

  /// A request of an install's has been answered, or is gone.
  mutating func answered(_ install: UInt64) {
    guard let first = lines[install]?.first, isFirst(first) else { return }
    ready.append(first)
  }

  /// Whether a request waits behind no other one.
  private func isFirst(_ number: UInt64) -> Bool {
    requests[number].map { $0.installs.allSatisfy { lines[$0]?.first == number } } ?? false
  }

  /// Takes out a request that may go.
  ///
  /// - Parameter isBusy: something of the install is under way, or has stepped aside.
  mutating func takeNext(_ isBusy: (UInt64) -> Bool) -> Request? {
    while !ready.isEmpty {
      let number = ready.removeFirst()
      // (One that is busy is looked at again when that is over.)
      guard isFirst(number), let request = requests[number], !request.installs.contains(where: isBusy) else { continue }
      requests[number] = nil
      for install in request.installs {
        lines[install]?.removeFirst()
        if lines[install]?.first == nil { lines[install] = nil }
      }
      count -= request.events.count
      runs -= request.events.runs.count
      return request
    }
    return nil
  }

  mutating func removeAll() { self = ParkedRequests(runsMax: runsMax) }

  /// Numbers in ascending order, of which the first ones go.
  private struct Line: Sendable {
    private var numbers: [UInt64] = []
    private var head = 0

    var first: UInt64? { head < numbers.count ? numbers[head] : nil }

    mutating func add(_ number: UInt64) {
      var at = numbers.count
      while at > head, numbers[at - 1] > number { at -= 1 }
      numbers.insert(number, at: at)
    }

    mutating func removeFirst() {
      head += 1
      guard head > 64, head * 2 > numbers.count else { return }
      numbers.removeFirst(head)
      head = 0
    }
  }
}
