import CCurl
import Observability
import Synchronization

/// All transfers of a loop, carried by libcurl: only the loop's thread touches it.
final class TransferEngine {
  /// Transfers that wait for their turn.
  static let waitingMax = 10_000
  /// Handles kept for the next request, each with its buffers.
  static let idleSlotsMax = 16

  let staleConnectionRetries = Atomic(0)
  private let transfersMax: Int
  private let setup: TransferSlot.Setup
  private let logger: Logger
  /// Null before the loop runs, when libcurl can't be set up, and after the end.
  private var multi: UnsafeMutableRawPointer?
  /// Those which carry a transfer now.
  private var busy: [TransferSlot] = []
  private var idle: [TransferSlot] = []
  private var waiting: [Transfer] = []
  /// The first that waits.
  private var waitingHead = 0
  private var isStopped = false
  /// Transfers that libcurl hasn't looked at.
  private var hasNew = false
  /// Sockets are ready, as far as is known.
  private var hasReady = false

  init(userAgent: String, logger: Logger, transfersMax: Int, idleConnectionsMax: Int) {
    self.logger = logger
    self.transfersMax = transfersMax
    setup = TransferSlot.Setup(userAgent: userAgent)
    multi = client_multi_create(transfersMax, min(idleConnectionsMax, transfersMax))
  }

  deinit { close() }

  var hasWork: Bool { hasNew }

  // MARK: Beginning and ending

  func start(_ transfer: Transfer) {
    guard !isStopped else { return transfer.end(.failure(.shutDown)) }
    guard !transfer.isCancelled.load(ordering: .acquiring) else { return transfer.end(.failure(.cancelled)) }
    guard busy.count < transfersMax else {
      if waiting.count - waitingHead < Self.waitingMax {
        waiting.append(transfer)
      } else {
        transfer.end(.failure(.tooManyRequests))
      }
      return
    }
    begin(transfer)
  }

  func cancel(_ transfer: Transfer) {
    if let slot = transfer.slot {
      release(slot)
      transfer.end(.failure(.cancelled))
      beginWaiting()
    } else if let at = waiting[waitingHead...].firstIndex(where: { $0 === transfer }) {
      waiting.remove(at: at)
      transfer.end(.failure(.cancelled))
    }
  }

  /// Breaks everything off; what is begun later fails.
  func stop() {
    isStopped = true
    let late = waiting[waitingHead...]
    waiting = []
    waitingHead = 0
    for transfer in late { transfer.end(.failure(.shutDown)) }
    for slot in busy {
      let transfer = slot.transfer
      release(slot)
      transfer?.end(.failure(.shutDown))
    }
  }

  /// Closes every connection. There must be no transfer any more.
  func close() {
    idle.removeAll()
    if let multi { curl_multi_cleanup(multi) }
    multi = nil
  }

  private func begin(_ transfer: Transfer) {
    guard let multi, let slot = slot(for: transfer.request) else {
      return transfer.end(.failure(.outOfMemory))
    }
    if let failure = slot.prepare(transfer) {
      keep(slot)
      return transfer.end(.failure(failure))
    }
    let code = curl_multi_add_handle(multi, slot.handle)
    guard code == CURLM_OK else {
      slot.transfer = nil
      transfer.slot = nil
      keep(slot)
      return transfer.end(
        .failure(TransportFailure(kind: .other, description: String(cString: curl_multi_strerror(code)))))
    }
    slot.index = busy.count
    busy.append(slot)
    hasNew = true
  }

  private func beginWaiting() {
    while waitingHead < waiting.count, busy.count < transfersMax {
      let transfer = waiting[waitingHead]
      waitingHead += 1
      begin(transfer)
    }
    if waitingHead == waiting.count {
      waiting.removeAll(keepingCapacity: waiting.count <= 1024)
      waitingHead = 0
    } else if waitingHead >= 1024 {
      waiting.removeFirst(waitingHead)
      waitingHead = 0
    }
  }

  // MARK: Handles

  /// A handle that last sent the like of the request, so that little is to be set; else any, else a new one.
  private func slot(for request: HTTPClientRequest) -> TransferSlot? {
    guard !idle.isEmpty else { return TransferSlot(setup) }
    let at = idle.lastIndex { $0.headers == request.headers } ?? idle.count - 1
    idle.swapAt(at, idle.count - 1)
    return idle.removeLast()
  }

  /// Takes a slot's transfer away from libcurl.
  private func release(_ slot: TransferSlot) {
    if let multi { curl_multi_remove_handle(multi, slot.handle) }
    let last = busy.removeLast()
    if slot.index < busy.count {
      busy[slot.index] = last
      last.index = slot.index
    }
    slot.finish()
    keep(slot)
  }

  private func keep(_ slot: TransferSlot) {
    if idle.count < Self.idleSlotsMax { idle.append(slot) }
  }

  // MARK: Going on

  /// Lets libcurl do what can be done now.
  func perform() {
    guard let multi, !busy.isEmpty else { return }
    guard hasNew || hasReady || isTimerDue(multi) else { return }
    hasNew = false
    hasReady = false
    var running: Int32 = 0
    let code = curl_multi_perform(multi, &running)
    if code != CURLM_OK {
      logger.error("libcurl failed", ["text": .text(String(cString: curl_multi_strerror(code)))])
    }
    if Int(running) < busy.count { collect(multi) }
  }

  /// Waits until a socket is ready, the descriptor is readable, a timer of libcurl's is due or so much time has gone by; whether it was the descriptor.
  func wait(for limit: Duration, or descriptor: Int32) -> Bool {
    var extra = curl_waitfd(fd: descriptor, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    let milliseconds = Int32(limit.millisecondsRoundedUp)
    guard let multi else {
      // Nothing but the descriptor to wait for.
      return client_wakeup_wait(descriptor, milliseconds) > 0
    }
    var ready: Int32 = 0
    let code = curl_multi_wait(multi, &extra, 1, milliseconds, &ready)
    if code != CURLM_OK {
      logger.error("libcurl failed", ["text": .text(String(cString: curl_multi_strerror(code)))])
      return client_wakeup_wait(descriptor, min(milliseconds, 100)) > 0
    }
    let isSignalled = extra.revents != 0
    hasReady = ready > (isSignalled ? 1 : 0)
    return isSignalled
  }

  private func isTimerDue(_ multi: UnsafeMutableRawPointer) -> Bool {
    var milliseconds = -1
    curl_multi_timeout(multi, &milliseconds)
    return milliseconds == 0
  }

  private func collect(_ multi: UnsafeMutableRawPointer) {
    var context: UnsafeMutableRawPointer?
    var code = CURLE_OK
    while client_multi_next(multi, &context, &code) != 0 {
      guard let context else { continue }
      complete(Unmanaged<TransferSlot>.fromOpaque(context).takeUnretainedValue(), code)
    }
    beginWaiting()
  }

  private func complete(_ slot: TransferSlot, _ code: CURLcode) {
    guard let transfer = slot.transfer else { return }
    let ending = slot.ending(code)
    release(slot)
    switch ending {
    case .result(let result): transfer.end(result)
    case .sendAgain:
      staleConnectionRetries.add(1, ordering: .relaxed)
      transfer.isRepeated = true
      begin(transfer)
    }
  }
}

extension Duration {
  /// Whole milliseconds, never less than the duration; 0 for a negative one, and at most a day.
  var millisecondsRoundedUp: Int {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 86_400 else { return 86_400_000 }
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }
}
