import Clocks
import Foundation
import Synchronization
import TestSupport

@testable import Commands

/// What a command left behind.
struct Ran: Sendable {
  var code: Int32
  var out: String
  var err: String
}

/// When every command of the tests runs: 2026-11-30T08:00:00Z.
let testTime = Timestamp(milliseconds: 1_796_025_600_000)

/// Runs a line as the program would, and takes what it prints.
func run(
  _ words: String..., environment: [String: String] = [:], input: String? = nil, files: [String] = [],
  relay: RelayPort = .none, terminal: Terminal? = nil, whenSaid: @escaping @Sendable (String) -> Void = { _ in },
  waitForStop: @escaping @Sendable () async -> Void = {},
  sleep: @escaping @Sendable (Duration) async -> Void = { _ in }
) async -> Ran {
  await run(
    words, environment: environment, input: input, files: files, relay: relay, terminal: terminal, whenSaid: whenSaid,
    waitForStop: waitForStop, sleep: sleep)
}

func run(
  _ words: [String], environment: [String: String] = [:], input: String? = nil, files: [String] = [],
  relay: RelayPort = .none, terminal: Terminal? = nil, whenSaid: @escaping @Sendable (String) -> Void = { _ in },
  waitForStop: @escaping @Sendable () async -> Void = {},
  sleep: @escaping @Sendable (Duration) async -> Void = { _ in }
) async -> Ran {
  let printed = Mutex<(out: [UInt8], err: [UInt8])>(([], []))
  let output = Output(terminal: terminal) { stream, bytes in
    printed.withLock { printed in
      if stream == .output { printed.out += bytes } else { printed.err += bytes }
    }
    if stream == .error { whenSaid(String(decoding: bytes, as: UTF8.self)) }
    return nil
  }
  let directory = TemporaryDirectory()
  let descriptor = input.map { open(directory.write("input", $0), O_RDONLY | O_CLOEXEC) } ?? open("/dev/null", O_RDONLY)
  defer { close(descriptor) }
  let context = CommandContext(
    output: output, environment: environment, clock: WallClock { testTime }, configurationFiles: files,
    standardInput: descriptor, waitForStop: waitForStop, sleep: sleep, relay: relay)
  let code = await Entry.run(words, context)
  return printed.withLock { printed in
    Ran(
      code: code.rawValue, out: String(decoding: printed.out, as: UTF8.self),
      err: String(decoding: printed.err, as: UTF8.self))
  }
}

/// An event that keeps all rules at the tests' time.
func goodEvent(_ number: Int = 0, name: String = "opened", at: String = "2026-11-30T07:59:00Z") -> String {
  let digits = String(number)
  let id = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
  return #"{"event_id":"\#(id)","name":"\#(name)","anonymous_id":"install","occurred_at":"\#(at)"}"#
}
