import Glibc

/// Reads a configuration file.
public enum ConfigurationLoader {
  /// Bytes that a configuration may have.
  public static let fileBytesMax = 1 << 20

  /// The configuration in a file, or everything that is wrong with it.
  ///
  /// An empty file is right: everything has its default. Relative paths are relative to the file's directory. Reads
  /// the file and the key files it names, and nothing else.
  ///
  /// - Parameter environment: what `${NAME}` is taken from.
  public static func load(file: String, environment: [String: String]) -> Result<
    RelayConfiguration, ConfigurationFaults
  > {
    switch FileText.read(file, bytesMax: fileBytesMax) {
    case .success(let bytes): parse(bytes, file: file, environment: environment).result
    case .failure(let fault):
      .failure(ConfigurationFaults([ConfigurationFault(file: file, line: 0, key: "", message: fault.message)]))
    }
  }

  /// What a text says, and the keys that were asked for on the way.
  static func parse(
    _ bytes: [UInt8], file: String, environment: [String: String]
  ) -> (result: Result<RelayConfiguration, ConfigurationFaults>, keys: Set<String>) {
    let directory = PathText.directory(of: PathText.absolute(file, relativeTo: FileText.workingDirectory))
    let findings = Findings(file: file, directory: directory, environment: environment)
    switch YAMLReader.read(bytes) {
    case .failure(let fault):
      findings.fault(line: fault.line, key: "", fault.message)
    case .success(let root):
      let section = Section(root, path: "", schemaPath: "", line: root?.line ?? 0, findings: findings)
      var configuration = RelayConfiguration(dataDirectory: PathText.absolute("data", relativeTo: directory))
      configuration.read(section)
      configuration.warnings = ConfigurationFaults(findings.warnings).all
      if findings.all == nil { return (.success(configuration), findings.keys) }
    }
    return (.failure(findings.all ?? ConfigurationFaults([])), findings.keys)
  }
}
