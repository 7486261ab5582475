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

  /// - Parameter directory: where the files are made; without one they go with the value.
  public init(_ name: String, in directory: TemporaryDirectory = TemporaryDirectory()) throws {
    self.directory = directory
    certificate = directory.file("\(name).pem")
    key = directory.file("\(name)-key.pem")
    let request = Process()
    request.executableURL = URL(fileURLWithPath: Self.openssl)
    request.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      "/CN=\(name)", "-addext", "subjectAltName=DNS:\(name),DNS:localhost", "-keyout", key, "-out", certificate,
    ]
    request.standardError = FileHandle.nullDevice
    try request.run()
    request.waitUntilExit()
    guard request.terminationStatus == 0 else {
      throw Failure(description: "openssl makes no certificate: it ends with \(request.terminationStatus)")
    }
  }
}
