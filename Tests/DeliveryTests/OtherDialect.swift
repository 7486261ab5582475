import Clocks
import Dialects
import EventLog
import EventsAPI
import HTTPClient
import JSON

@testable import Delivery

/// A protocol of the tests' own, as far as the engine looks at one: habits, bodies and answers are plain.
struct OtherDialect: Dialect {
  let number: UInt8
  let name: String
  let title = "the tests' protocol"
  let incoming = DialectRegistry.usual.incoming
  let outgoing: any OutgoingDialect

  /// One event a request, or what one request brought: several persons at once, each in order.
  static let apart = OtherDialect(number: 101, name: "apart") { habits, defaults in
    habits.keepsRequestsApart = true
    habits.limitUnit = .requests
    habits.onServerFault = .stepAside
    defaults.perMinute = 100
    defaults.concurrency = 8
  }

  /// Batches in order, one after the other.
  static let ordered = OtherDialect(number: 102, name: "ordered") { habits, defaults in
    habits.goesWith = 20
    habits.onServerFault = .wait
    habits.onRefusal = .holdAtOnce
    defaults.linger = .seconds(5)
  }

  private init(
    number: UInt8, name: String, _ shape: (inout OutgoingHabits, inout OutgoingDefaults) -> Void
  ) {
    self.number = number
    self.name = name
    var habits = OutgoingHabits()
    var defaults = OutgoingDefaults(
      url: "http://\(name).test", linger: .zero, maxBatchEvents: 100, maxBatchBytes: 1 << 20, timeout: .seconds(15),
      retry: RetryDelays(initial: .seconds(1), max: .seconds(30), jitter: 0), perMinute: 0, concurrency: 1)
    shape(&habits, &defaults)
    outgoing = Outgoing(defaults: defaults, habits: habits)
  }

  /// How it goes upstream unless told otherwise.
  func configuration(_ url: String? = nil) -> UpstreamConfiguration {
    UpstreamConfiguration(defaultsOf: self, url: url)
  }

  private struct Outgoing: OutgoingDialect {
    let defaults: OutgoingDefaults
    let habits: OutgoingHabits
    let frameBytes = 13

    func base(of url: String) -> String { url }

    func target(of batch: EventBatch, key: String) -> OutgoingTarget {
      OutgoingTarget(path: "/in", headers: ["X-Write-Key: \(key)"])
    }

    func fill(_ body: RequestBody, from batch: EventBatch, key: String, now: Timestamp, bytesMax: Int) -> Int {
      body.removeAll()
      body.append(Array(#"{"events":["#.utf8))
      for (place, event) in batch.events.enumerated() {
        if place > 0 { body.append(UInt8(ascii: ",")) }
        body.append(batch.bytes(of: event))
      }
      body.append(Array("]}".utf8))
      return batch.events.count
    }

    func judge(_ answer: UpstreamAnswer) -> UpstreamVerdict {
      switch answer.status {
      case 200...299:
        var receipt = BatchReceipt(accepted: answer.sentEvents)
        receipt.unnamedRejections = (try? JSONValue(parsing: answer.body))?["unnamed"]?.integer() ?? 0
        return .delivered(receipt)
      case 429:
        return .retry(
          after: RetryAfter.parse(headerValues: answer.retryAfter, now: answer.now), reason: .rateLimited)
      case 500...599: return .retry(after: nil, reason: .serverError(status: answer.status))
      case 400: return .badRequest(code: "bad", message: "why")
      case 413: return .tooLarge(code: "large", message: "why")
      case 400..<500: return .refused(status: answer.status, code: "no", message: "why")
      default: return .retry(after: nil, reason: .foreign(status: answer.status))
      }
    }

    /// Doubles from the first delay on; what was told to wait doesn't count.
    func wait(after failure: FailedTries, _ retry: RetryDelays) -> Duration {
      if failure.isRateLimited { return failure.asked?.delay ?? .seconds(1) }
      let own = retry.initial * (1 << min(max(failure.count - failure.rateLimited - 1, 0), 20))
      return min(own, retry.max)
    }
  }
}

extension RequestBody {
  fileprivate func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }
}

extension Scene {
  /// Stores the same numbers for three apps of three protocols.
  func storeThree(_ numbers: ClosedRange<Int>) {
    store(numbers)
    for number in numbers { store([number], app: "web", install: UInt64(number), dialect: 101) }
    store(numbers, app: "app", dialect: 102)
  }
}
