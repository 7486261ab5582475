/// Tells the service manager that all is well, as often as it wants to hear it, while it is true.
struct Watchdog: Sendable {
  private let task: Task<Void, Never>?

  init(_ manager: ServiceManager, isLive: @escaping @Sendable () -> Bool) {
    task = manager.watchdogInterval.map { interval in
      Task {
        while !Task.isCancelled {
          if isLive() { manager.watchdog() }
          try? await Task.sleep(for: interval)
        }
      }
    }
  }

  func cancel() { task?.cancel() }
}
