import Clocks
import Configuration
import JSON

/// Whether the certificates that the listeners show end soon: those in use when a relay runs, else those of the files.
struct CertificateExamination {
  let configuration: RelayConfiguration
  let status: JSONValue?
  let now: Timestamp

  /// One check a listener that speaks TLS.
  func checks() -> [DoctorCheck] { Door.allCases.compactMap(check) }

  private func check(_ door: Door) -> DoctorCheck? {
    let configured = status == nil ? configuration.tls(of: door)?.facts?.expires.description : nil
    guard let expires = status?[door.rawValue]?["tls"]?["certificate_expires_at"]?.string ?? configured else {
      return nil
    }
    let name = "certificate \(door)"
    // (Times in this form are in the order of their texts.)
    guard expires <= (now + RelayConfiguration.TLS.expiryNotice).description else {
      return .ok(name, "good until \(expires)")
    }
    return .wrong(
      name, expires <= now.description ? "it ended on \(expires)" : "it ends on \(expires), in less than 14 days",
      "put a new one into the files that \(door).tls names: the relay takes it up by itself")
  }
}
