import Foundation
import Synchronization
import TestSupport

/// Many plain connections of one test, each a descriptor and nothing else. Nothing here blocks but connecting.
final class RawSockets: Sendable {
  let descriptors: [Int32]
  private let isStopped = Atomic(false)

  /// Connects so many.
  ///
  /// - Parameter source: the address that the connection with this number comes from.
  init(_ count: Int, to address: TestAddress, from source: (Int) -> String = { _ in "127.0.0.1" }) throws {
    Self.raiseLimit(to: count + 512)
    guard case .tcp(_, let port) = address else { throw TestFailure("no TCP address") }
    descriptors = try (0..<count).map { number in
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      inet_pton(AF_INET, source(number), &own.sin_addr)
      var there = loopback(port: port)
      guard descriptor >= 0, withSocketAddress(&own, { bind(descriptor, $0, $1) }) == 0,
        withSocketAddress(&there, { connect(descriptor, $0, $1) }) == 0
      else { throw TestFailure("connection \(number): \(String(cString: strerror(errno)))") }
      return descriptor
    }
  }

  deinit {
    stop()
    for descriptor in descriptors { close(descriptor) }
  }

  /// Lets this process have so many files open.
  private static func raiseLimit(to count: Int) {
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    getrlimit(resource, &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(rlim_t(count), limit.rlim_max))
    setrlimit(resource, &limit)
  }

  /// Sends bytes over each, as far as it takes them.
  func send(_ bytes: [UInt8]) {
    for descriptor in descriptors {
      _ = bytes.withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
    }
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Sends a byte over each, again and again, until it is told to stop or all have ended.
  func dribble(_ byte: UInt8) {
    while !isStopped.load(ordering: .relaxed), ended < descriptors.count {
      send([byte])
      // A few milliseconds between two bytes: it is the pace that makes these senders slow.
      var nothing = pollfd()
      poll(&nothing, 0, 20)
    }
  }

  func stop() { isStopped.store(true, ordering: .relaxed) }

  /// How many the other side has ended. What it said before is thrown away.
  var ended: Int {
    var waste = [UInt8](repeating: 0, count: 4096)
    return descriptors.count { descriptor in
      while true {
        let count = recv(descriptor, &waste, waste.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count == 0 || errno != EAGAIN
      }
    }
  }

  /// Waits until the other side has said something on each, or ended it; what it said, as far as it has.
  func answers() throws -> [String] {
    try descriptors.map { descriptor in
      var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&waited, 1, 120_000) == 1 else { throw TestFailure("nothing comes") }
      var chunk = [UInt8](repeating: 0, count: 4096)
      let count = recv(descriptor, &chunk, chunk.count, Int32(MSG_DONTWAIT))
      return String(decoding: chunk[..<max(count, 0)], as: UTF8.self)
    }
  }

  /// Waits until the other side has ended all of them.
  func waitForEnd() throws {
    for descriptor in descriptors {
      var waste = [UInt8](repeating: 0, count: 4096)
      while true {
        var waited = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waited, 1, 120_000) == 1 else { throw TestFailure("a connection isn't ended") }
        if recv(descriptor, &waste, waste.count, Int32(MSG_DONTWAIT)) <= 0 { break }
      }
    }
  }
}
