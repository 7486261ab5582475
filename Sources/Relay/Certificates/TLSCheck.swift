import Configuration
import HTTPServer

/// Whether the library that speaks TLS can use what the configuration names, beyond what reading it has told.
public enum TLSCheck {
  /// What is wrong, a sentence each that begins with the key; none when nothing is.
  public static func faults(_ configuration: RelayConfiguration) -> [String] {
    Door.allCases.compactMap { door in
      guard let tls = configuration.tls(of: door) else { return nil }
      do throws(RelayError) {
        _ = try TLSIdentity(tls, of: door)
        return nil
      } catch {
        return "\(error)"
      }
    }
  }
}
