import Foundation
import Synchronization
import TestSupport

/// A program that a test has started. Killed when the value goes, if it still runs then.
final class ChildProcess: Sendable {
  let id: pid_t
  /// Standard error by lines, as they come.
  let errorLines = Fact<[String]>([])
  /// Standard output, as it comes.
  let output = Fact<[UInt8]>([])
  /// The exit code once it has ended and all it wrote is here; 128 + the signal's number when a signal ended it.
  let exitCode = Fact<Int32?>(nil)

  private let isReaped = Mutex(false)
  private let exitFact: Fact<Int32?>

  /// The program under test: it lies beside the tests' own.
  static let eventRelay: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (own as NSString).deletingLastPathComponent + "/event-relay"
  }()

  /// What stands before a program that may have so many files open at most.
  static func command(openFiles: Int) -> [String] {
    ["/bin/sh", "-c", #"ulimit -n \#(openFiles) && exec "$0" "$@""#]
  }

  init(
    _ arguments: [String], program: String = ChildProcess.eventRelay, environment: [String: String] = [:],
    directory: String? = nil, input: String? = nil
  ) throws {
    var outputPipe: [Int32] = [0, 0]
    var errorPipe: [Int32] = [0, 0]
    guard pipe(&outputPipe) == 0, pipe(&errorPipe) == 0 else { throw TestFailure("no pipe") }
    defer {
      close(outputPipe[1])
      close(errorPipe[1])
    }
    id = try Self.spawn(
      program, arguments, environment, directory: directory, input: input ?? "/dev/null", output: outputPipe[1],
      error: errorPipe[1])
    exitFact = exitCode
    watch(output: outputPipe[0], error: errorPipe[0])
  }

  deinit { kill(SIGKILL) }

  /// Sends a signal, unless the process is gone.
  func kill(_ signal: Int32) {
    isReaped.withLock { if !$0 { _ = Foundation.kill(id, signal) } }
  }

  /// Waits for the end and returns the exit code; nil when it hasn't ended within the limit.
  func wait(within limit: Duration = .seconds(300)) async -> Int32? {
    await exitCode.wait(within: limit) { $0 != nil } ?? nil
  }

  /// Waits for a line on standard error that contains the text; nil when the process ends first or none comes.
  @discardableResult
  func waitForLine(_ text: String, within limit: Duration = .seconds(300)) async -> String? {
    let fact = errorLines
    let lines = await fact.wait(within: limit) { $0.contains { $0.contains(text) || $0 == Self.endMark } }
    return lines?.first { $0.contains(text) }
  }

  var errorText: String { errorLines.value.filter { $0 != Self.endMark }.joined(separator: "\n") }
  var outputText: String { String(decoding: output.value, as: UTF8.self) }

  /// Stands behind the last line of standard error once it is closed.
  private static let endMark = "\u{4}"

  private static func spawn(
    _ program: String, _ arguments: [String], _ environment: [String: String], directory: String?, input: String,
    output: Int32, error: Int32
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, error, 2)
    // Nothing else of ours may live on in the child: a socket it holds would never be seen closed.
    for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    var all = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LLVM_PROFILE") }
    all.merge(environment) { $1 }
    let command = (directory.map { ["/usr/bin/env", "--chdir", $0] } ?? []) + [program] + arguments
    var argv = command.map { strdup($0) } + [nil]
    var envp = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in argv + envp { free(text) } }
    var child: pid_t = 0
    let status = posix_spawn(&child, command[0], &actions, nil, &argv, &envp)
    guard status == 0 else { throw TestFailure("can't start \(program): \(String(cString: strerror(status)))") }
    return child
  }

  /// Threads that hold the facts and not the process, so that it can go before they end.
  private func watch(output outputPipe: Int32, error errorPipe: Int32) {
    let (output, errorLines, exitFact, id) = (self.output, self.errorLines, self.exitFact, self.id)
    let readers = DispatchGroup()
    readers.enter()
    Thread.detachNewThread {
      Self.read(outputPipe) { chunk in output.change { $0 += chunk } }
      readers.leave()
    }
    readers.enter()
    Thread.detachNewThread {
      var partial: [UInt8] = []
      Self.read(errorPipe) { chunk in
        partial += chunk
        var lines = partial.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        partial = Array(lines.removeLast())
        let texts = lines.map { String(decoding: $0, as: UTF8.self) }
        if !texts.isEmpty { errorLines.change { $0 += texts } }
      }
      let last = partial.isEmpty ? [] : [String(decoding: partial, as: UTF8.self)]
      errorLines.change { $0 += last + [Self.endMark] }
      readers.leave()
    }
    Thread.detachNewThread { [weak self] in
      var info = siginfo_t()
      while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
      var status: Int32 = 0
      let reap = { _ = waitpid(id, &status, 0) }
      if let self {
        self.isReaped.withLock {
          reap()
          $0 = true
        }
      } else {
        reap()
      }
      readers.wait()
      let signal = status & 0x7F
      let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
      exitFact.change { $0 = code }
    }
  }

  private static func read(_ descriptor: Int32, _ take: ([UInt8]) -> Void) {
    defer { close(descriptor) }
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Foundation.read(descriptor, &chunk, chunk.count)
      if count > 0 {
        take(Array(chunk[..<count]))
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }
}

/// What a command that ran to its end left.
struct CommandResult: Sendable {
  var exitCode: Int32
  var output: String
  var errors: String
}

/// Runs `event-relay` with these arguments to its end.
func eventRelay(
  _ arguments: String..., environment: [String: String] = [:], directory: String? = nil, input: String? = nil
) async throws -> CommandResult {
  try await eventRelay(arguments, environment: environment, directory: directory, input: input)
}

func eventRelay(
  _ arguments: [String], environment: [String: String] = [:], directory: String? = nil, input: String? = nil
) async throws -> CommandResult {
  let child = try ChildProcess(arguments, environment: environment, directory: directory, input: input)
  guard let exitCode = await child.wait() else {
    throw TestFailure("event-relay \(arguments.joined(separator: " ")) doesn't end:\n\(child.errorText)")
  }
  return CommandResult(exitCode: exitCode, output: child.outputText, errors: child.errorText)
}

extension ChildProcess {
  /// Runs `event-relay`, which may have so many files open, to its end.
  static func result(_ arguments: [String], openFiles: Int) async throws -> CommandResult {
    let command = command(openFiles: openFiles)
    let child = try ChildProcess(Array(command.dropFirst()) + [eventRelay] + arguments, program: command[0])
    guard let exitCode = await child.wait() else { throw TestFailure("doesn't end:\n\(child.errorText)") }
    return CommandResult(exitCode: exitCode, output: child.outputText, errors: child.errorText)
  }
}
