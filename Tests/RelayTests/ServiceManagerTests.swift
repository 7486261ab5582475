import Glibc
import Testing

@testable import Relay

@Suite("A service manager's watchdog")
struct ServiceManagerTests {
  private func interval(_ environment: [String: String]) -> Duration? {
    ServiceManager(environment: environment).watchdogInterval
  }

  @Test("is told at half its limit, when it is meant for this process")
  func watchdog() {
    #expect(interval(["WATCHDOG_USEC": "3000000"]) == .milliseconds(1500))
    #expect(interval(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "\(getpid())"]) == .milliseconds(1500))
    for other in [["WATCHDOG_PID": "1"], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "-5"], ["WATCHDOG_USEC": "soon"]] {
      #expect(interval(["WATCHDOG_USEC": "3000000"].merging(other) { $1 }) == nil)
    }
  }
}
