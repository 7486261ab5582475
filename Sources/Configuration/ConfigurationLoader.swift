import Glibc

/// Reads a configuration file.
public enum ConfigurationLoader {
  /// Bytes that a configuration may have.
  public static let fileBytesMax = 1 << 20

  /// The configuration in a file, or everything that is wrong with it.
  ///
  /// An empty file is right: everything has its default. Relative paths are relative to the file's directory. Reads
  /// the file, and the files of keys and certificates it names.
  ///
  /// - Parameters:
  ///   - environment: what `${NAME}` is taken from.
  ///   - sinkTypes: the types of sinks there are.
  ///   - protocols: those that apps may speak, at least one. Apps that name none speak the first.
  public static func load(
    file: String, environment: [String: String], sinkTypes: [any SinkFormat],
    protocols: [ProtocolFormat]
  ) -> Result<RelayConfiguration, ConfigurationFaults> {
    switch FileText.read(file, bytesMax: fileBytesMax) {
    case .success(let bytes):
      parse(bytes, file: file, environment: environment, sinkTypes: sinkTypes, protocols: protocols).result
    case .failure(let fault):
      .failure(ConfigurationFaults([ConfigurationFault(file: file, line: 0, key: "", message: fault.message)]))
    }
  }

  /// As ``load(file:environment:sinkTypes:protocols:)``, for one who only looks for the relay: apps are left out, and a key whose variable
  /// is not set has its default, since secrets are seldom set where the relay doesn't run.
  public static func loadForAsking(
    file: String, environment: [String: String], sinkTypes: [any SinkFormat],
    protocols: [ProtocolFormat]
  ) -> Result<RelayConfiguration, ConfigurationFaults> {
    switch FileText.read(file, bytesMax: fileBytesMax) {
    case .success(let bytes):
      parse(
        bytes, file: file, environment: environment, sinkTypes: sinkTypes, protocols: protocols, isForAsking: true
      ).result
    case .failure(let fault):
      .failure(ConfigurationFaults([ConfigurationFault(file: file, line: 0, key: "", message: fault.message)]))
    }
  }

  /// What a text says, and the keys that were asked for and the files that were read on the way.
  static func parse(
    _ bytes: [UInt8], file: String, environment: [String: String], sinkTypes: [any SinkFormat],
    protocols: [ProtocolFormat], isForAsking: Bool = false
  ) -> (result: Result<RelayConfiguration, ConfigurationFaults>, keys: Set<String>, files: Set<String>) {
    let directory = PathText.realDirectory(of: file)
    let findings = Findings(
      file: file, directory: directory, environment: environment, isForAsking: isForAsking,
      quoting: Quoting(keyPrefixes: protocols.flatMap(\.keyPrefixes)))
    switch YAMLReader.read(bytes) {
    case .failure(let fault):
      findings.fault(line: fault.line, key: "", fault.message)
    case .success(let root):
      let section = Section(root, path: "", schemaPath: "", line: root?.line ?? 0, findings: findings)
      var configuration = RelayConfiguration(dataDirectory: PathText.absolute("data", relativeTo: directory))
      configuration.read(section, sinkTypes: sinkTypes, protocols: protocols)
      configuration.warnings = ConfigurationFaults(findings.warnings).all
      if findings.all == nil { return (.success(configuration), findings.keys, findings.files) }
    }
    return (.failure(findings.all ?? ConfigurationFaults([])), findings.keys, findings.files)
  }
}
