import Clocks
import EventLog
import Glibc
import Records
import Synchronization

/// The faults of a tortured relay's disk and clock, as its parent orders them, and what became of the orders.
final class FaultSwitch: Sendable {
  private let orders = Mutex(FaultOrders())
  /// Milliseconds by which the wall clock is wrong.
  private let clockOffset = Mutex<Int64>(0)
  private let report: @Sendable (TortureFault) -> Void

  /// - Parameter report: told of each fault that came to pass.
  init(report: @escaping @Sendable (TortureFault) -> Void) { self.report = report }

  var isFull: Bool { orders.withLock { $0.isFull } }

  func order(_ change: (inout FaultOrders) -> Void) { orders.withLock { change(&$0) } }

  func setClock(_ offset: Int64) {
    clockOffset.withLock { $0 = offset }
    report(.clock)
  }

  /// The wall clock, wrong as ordered.
  var clock: WallClock {
    WallClock { [self] in WallClock.system.now + .milliseconds(clockOffset.withLock { $0 }) }
  }

  /// The disk for sinks and dead letters, with the ordered faults in front of it.
  var files: FileSystem {
    FileSystem { [self] operation, _ in
      let call: FaultOrders.Call
      switch operation {
      case .read: call = .read
      case .write, .create: call = .write
      case .sync: call = .sync
      default: return 0
      }
      switch take(call, .files) {
      case .none, .delay: return 0
      // (What is shortened is the log's alone: here nothing of it is written.)
      case .fail(let code), .shorten(let code): return code
      }
    }
  }

  /// Lets one call of the log's through, or not.
  ///
  /// - Parameter layer: nil for a file that takes no counted faults.
  /// - Returns: the error number with which to fail after half of the bytes.
  @discardableResult
  func pass(
    _ call: FaultOrders.Call, layer: FaultOrders.Layer?, _ operation: DiskError.Operation, _ path: String
  ) throws(DiskError) -> Int32? {
    switch take(call, layer) {
    case .none, .delay: return nil
    case .fail(let code): throw DiskError(operation, path, code: code)
    case .shorten(let code): return code
    }
  }

  private func take(_ call: FaultOrders.Call, _ layer: FaultOrders.Layer?) -> FaultOrders.Treatment {
    let (treatment, fault) = orders.withLock { orders -> (FaultOrders.Treatment, TortureFault?) in
      guard let layer else {
        guard call == .write, orders.isFull else { return (.none, nil) }
        return (.fail(ErrorNumber.noSpace), .diskFull)
      }
      return orders.judge(call, layer)
    }
    if let fault { report(fault) }
    if case .delay(let delay) = treatment { usleep(UInt32(delay / .microseconds(1))) }
    return treatment
  }
}
