import Glibc
import JSON
import Records
import Synchronization
import Threads

/// A tortured relay that runs as a child process. One thread uses it, but for what its own reports.
final class RelayChild: Sendable {
  /// How long a start may take: with a large log on a slow disk it does.
  static let startLimit: Duration = .seconds(60)

  let id: pid_t
  let ingestPort: UInt16
  let adminPort: UInt16
  private let control: Int32
  private let setup: TortureSetup
  private let happened: Mutex<[TortureFault: Int]>
  private let end = Mutex<Int32?>(nil)

  /// Starts the relay and waits until it is ready.
  ///
  /// - Parameter clockOffset: milliseconds by which its clock is wrong.
  init(_ setup: TortureSetup, clockOffset: Int64) throws(TortureError) {
    self.setup = setup
    happened = Mutex([:])
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw TortureError("no socket pair: \(String(cString: strerror(errno)))")
    }
    control = pair[0]
    defer { close(pair[1]) }
    unlink("\(setup.data)/addresses.json")
    let id = try ChildStart.start(
      ["torture-relay", "--config", setup.configuration, "--control", "\(ChildStart.controlDescriptor)"],
      control: pair[1], log: setup.relayLog)
    self.id = id
    Self.say(.clock(clockOffset), to: control)
    var addresses: (UInt16, UInt16)?
    var code: Int32?
    let isReady = Pause.wait(within: Self.startLimit) {
      code = ChildStart.end(of: id, waits: false)
      addresses = Self.addresses(setup)
      return code != nil || addresses != nil
    }
    guard let addresses, code == nil else {
      if code == nil {
        kill(id, SIGKILL)
        _ = ChildStart.end(of: id, waits: true)
      }
      close(control)
      throw TortureError(
        isReady
          ? "the relay ended at its start with \(code ?? -1): \(setup.relayLog) says why"
          : "waited \(Self.startLimit / .seconds(1)) s for the relay to be ready: \(setup.relayLog) says where it is")
    }
    (ingestPort, adminPort) = addresses
    readReports()
  }

  deinit { close(control) }

  private static func addresses(_ setup: TortureSetup) -> (UInt16, UInt16)? {
    guard let bytes = try? FileSystem.system.readWhole("\(setup.data)/addresses.json"),
      let json = try? JSONValue(parsing: bytes), let admin = json["admin"]?.string.flatMap(Loopback.port),
      let ingest = json["ingest"]?.array?.first?.string.flatMap(Loopback.port)
    else { return nil }
    return (ingest, admin)
  }

  private func readReports() {
    let descriptor = dup(control)
    _ = DetachedThread.start(name: "reports") { [weak self] in
      var lines = LineSocket(descriptor)
      while let line = lines.next() {
        guard let fault = line.split(separator: " ").last.flatMap({ TortureFault(rawValue: String($0)) }) else {
          continue
        }
        self?.happened.withLock { $0[fault, default: 0] += 1 }
      }
      close(descriptor)
    }
  }

  /// How often a fault of its disk or clock came to pass.
  func count(_ fault: TortureFault) -> Int { happened.withLock { $0[fault, default: 0] } }

  func order(_ line: ControlLine) { Self.say(line, to: control) }

  private static func say(_ line: ControlLine, to control: Int32) {
    let bytes = Array("\(line.text)\n".utf8)
    _ = send(control, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  func signal(_ number: Int32) { if hasEnded == nil { kill(id, number) } }

  /// The exit code, or 128 + the signal's number; nil while it runs.
  var hasEnded: Int32? {
    end.withLock { end in
      if end == nil { end = ChildStart.end(of: id, waits: false) }
      return end
    }
  }

  /// Waits for its end; nil when it doesn't come.
  func waitForEnd(within limit: Duration) -> Int32? {
    _ = Pause.wait(within: limit) { hasEnded != nil }
    return hasEnded
  }

  /// What `GET /status` says; nil when nothing comes.
  func status(within limit: Duration = .seconds(20)) -> JSONValue? {
    let answer = try? RelayCall.send("GET", "/status", toPort: adminPort, headers: ["Connection: close"], within: limit)
    return answer?.status == 200 ? answer?.json : nil
  }
}
