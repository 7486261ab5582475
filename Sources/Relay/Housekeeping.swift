/// What is to be done now and then: hourly.
struct Housekeeping: Sendable {
  static let interval: Duration = .seconds(3600)

  private let task: Task<Void, Never>

  init(_ work: @escaping @Sendable () -> Void) {
    task = Task {
      while (try? await Task.sleep(for: Self.interval)) != nil { work() }
    }
  }

  func cancel() { task.cancel() }
}
