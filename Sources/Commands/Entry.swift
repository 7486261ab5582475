import Configuration
import Dispatch
import Synchronization

/// What the executable calls.
public enum Entry {
  /// Runs the command that a line names, and waits for its end on the calling thread, which must be the main one.
  ///
  /// The main thread must not be left to Swift's run loop: that one takes every signal whatever is blocked, and a SIGTERM
  /// would end the process on the spot.
  ///
  /// - Returns: what ``main(_:)`` does.
  public static func runToEnd(_ arguments: [String]) -> Int32 {
    if StopSignals.isWaitedFor(by: arguments) { StopSignals.block() }
    let ending = Ending()
    Task.detached {
      let code = await main(arguments)
      ending.code.withLock { $0 = code }
      ending.hasCome.signal()
    }
    ending.hasCome.wait()
    return ending.code.withLock { $0 }
  }

  private final class Ending: Sendable {
    let code = Mutex<Int32>(0)
    let hasCome = DispatchSemaphore(value: 0)
  }

  /// Runs the command that a line names.
  ///
  /// - Parameter arguments: the line's words, without the program's own name.
  /// - Returns: the process's exit code: 0 done, 1 failed, 2 wrong usage or configuration.
  public static func main(_ arguments: [String]) async -> Int32 {
    var context = CommandContext(output: .standard(), environment: ProcessEnvironment.current)
    context.relay = .this
    return await run(arguments, context).rawValue
  }

  static func run(_ arguments: [String], _ context: CommandContext) async -> ExitCode {
    var code = await dispatch(arguments, context)
    context.output.flush()
    if let reason = context.output.failure {
      context.output.error("\(HelpText.program): can't write to standard output: \(reason)")
      code = .failed
    }
    return code
  }

  private static func dispatch(_ words: [String], _ context: CommandContext) async -> ExitCode {
    let output = context.output
    switch words.first {
    case nil:
      output.error(HelpText.overview(CommandCatalog.all), terminator: "")
      return .usage
    case "--help", "-h", "help":
      if words.count > 1, words[0] == "help" { return await dispatch(words.dropFirst() + ["--help"], context) }
      output.print(HelpText.overview(CommandCatalog.all), terminator: "")
      return .done
    case "--version":
      output.print("\(HelpText.program) \(ProgramVersion.current)")
      return .done
    default: break
    }
    do throws(CommandFailure) {
      switch try CommandCatalog.find(words) {
      case .group(let name, let commands):
        output.print(HelpText.group(name, commands), terminator: "")
        return .done
      case .command(let command, let rest): return await run(command, rest, context)
      }
    } catch {
      output.error("\(HelpText.program): \(error.message)")
      return error.code
    }
  }

  private static func run(_ command: Command, _ words: ArraySlice<String>, _ context: CommandContext) async -> ExitCode
  {
    let parsed: ArgumentParser.Parsed
    do throws(CommandFailure) {
      parsed = try ArgumentParser(command: command).parse(words)
    } catch {
      context.output.error("\(HelpText.program) \(command.name): \(error.message)\n\(HelpText.usage(command))")
      return error.code
    }
    guard case .arguments(let arguments) = parsed else {
      context.output.print(HelpText.help(command), terminator: "")
      return .done
    }
    do throws(CommandFailure) {
      return try await command.run(arguments, context)
    } catch {
      context.output.error(error.isBare ? error.message : "\(HelpText.program) \(command.name): \(error.message)")
      return error.code
    }
  }
}
