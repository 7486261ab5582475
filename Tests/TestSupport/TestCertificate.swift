import Foundation

/// A certificate for a name and for `localhost` that signs itself, and its key: two PEM files.
public struct TestCertificate: Sendable {
  /// What makes them; not every machine has it.
  public static let openssl = "/usr/bin/openssl"
  public static var canBeMade: Bool { FileManager.default.isExecutableFile(atPath: openssl) }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// The files' paths.
  public let certificate, key: String
  private let directory: TemporaryDirectory

  /// - Parameters:
  ///   - directory: where the files are made; without one they go with the value.
  ///   - days: for how long it is good from now on; negative: it ended so long ago.
  ///   - authority: who signs it; nil: it signs itself.
  ///   - purpose: what it may be used for, `clientAuth`; nil: for anything.
  public init(
    _ name: String, in directory: TemporaryDirectory = TemporaryDirectory(), days: Int = 2,
    signedBy authority: TestCertificate? = nil, purpose: String? = nil
  ) throws {
    self.directory = directory
    certificate = directory.file("\(name).pem")
    key = directory.file("\(name)-key.pem")
    let request = directory.file("\(name).csr")
    let names = "subjectAltName=DNS:\(name),DNS:localhost"
    try Self.run(
      ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=\(name)"]
        + ["-addext", names] + (purpose.map { ["-addext", "extendedKeyUsage=\($0)"] } ?? [])
        + (authority == nil ? ["-addext", "basicConstraints=critical,CA:TRUE"] : [])
        + ["-keyout", key, "-out", request])
    // (Only this command makes certificates that have ended.)
    try Self.run(
      ["x509", "-req", "-in", request, "-days", "\(days)", "-copy_extensions", "copy", "-out", certificate]
        + (authority.map {
          ["-CA", $0.certificate, "-CAkey", $0.key, "-set_serial", "\(Int32.random(in: 1 ... .max))"]
        }
          ?? ["-signkey", key]))
  }

  private static func run(_ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: openssl)
    process.arguments = arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "openssl makes no certificate: it ends with \(process.terminationStatus)")
    }
  }
}
