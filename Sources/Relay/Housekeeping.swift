/// What is to be done now and then.
struct Housekeeping: Sendable {
  static let interval: Duration = .seconds(3600)

  private let task: Task<Void, Never>

  init(every interval: Duration = Self.interval, _ work: @escaping @Sendable () async -> Void) {
    task = Task {
      while (try? await Task.sleep(for: interval)) != nil { await work() }
    }
  }

  func cancel() { task.cancel() }
}
