import Synchronization

/// A relay's configuration file, read again and again while the relay runs, with the files of keys,
/// certificates and ids it names.
public final class ConfigurationSource: Sendable {
  private struct State {
    /// The text that is in use, and the files that it names.
    var text: [UInt8] = []
    var files: Set<String> = []
    /// The same of what was read last.
    var candidate: (text: [UInt8], files: Set<String>)?
  }

  public let file: String
  private let environment: [String: String]
  private let sinkTypes: [any SinkFormat]
  private let protocols: [ProtocolFormat]
  private let state = Mutex(State())

  /// - Parameters:
  ///   - environment: what `${NAME}` is taken from.
  ///   - sinkTypes: the types of sinks there are.
  ///   - protocols: those that apps may speak, at least one. Apps that name none speak the first.
  public init(
    file: String, environment: [String: String], sinkTypes: [any SinkFormat], protocols: [ProtocolFormat]
  ) {
    self.protocols = protocols
    self.file = file
    self.environment = environment
    self.sinkTypes = sinkTypes
  }

  /// What the file says now, or everything that is wrong with it. Call ``accept()`` when it is taken into use.
  public func read() -> Result<RelayConfiguration, ConfigurationFaults> {
    switch FileText.read(file, bytesMax: ConfigurationLoader.fileBytesMax) {
    case .success(let text): return parse(text)
    case .failure(let fault):
      return .failure(ConfigurationFaults([ConfigurationFault(file: file, line: 0, key: "", message: fault.message)]))
    }
  }

  /// What the text that is in use says, with what the files it names hold now: changes of the configuration file itself wait
  /// for whoever reloads it.
  public func readFilesAgain() -> Result<RelayConfiguration, ConfigurationFaults> {
    parse(state.withLock { $0.text })
  }

  private func parse(_ text: [UInt8]) -> Result<RelayConfiguration, ConfigurationFaults> {
    let read = ConfigurationLoader.parse(
      text, file: file, environment: environment, sinkTypes: sinkTypes, protocols: protocols)
    state.withLock { $0.candidate = (text, read.files) }
    return read.result
  }

  /// What was read last is in use from now on.
  public func accept() {
    state.withLock { state in
      guard let candidate = state.candidate else { return }
      (state.text, state.files) = candidate
      state.candidate = nil
    }
  }

  /// The files of keys, certificates and ids that the text in use names, absolute, in the order of their names.
  public var files: [String] { state.withLock { $0.files.sorted() } }
}
