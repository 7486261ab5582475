import Clocks
import Configuration
import JSON
import Observability
import TestSupport
import Testing

@testable import Relay

@Suite("A listener's certificate")
struct CertificateTests {
  private let now = Timestamp(milliseconds: 1_800_000_000_000)

  @Test("is spoken of once a day from 14 days before its end on")
  func notice() {
    var notice = CertificateNotice()
    let day = Duration.seconds(86_400)
    let end = now + day * 20
    let moments: [(Timestamp, Bool)] = [
      (now, false), (end - day * 14 - .milliseconds(1), false), (end - day * 14, true),
      (end - day * 13 - .milliseconds(1), false), (end - day * 13, true), (end + day, true),
      // The clock was set back.
      (end - day, true),
    ]
    for (moment, isDue) in moments {
      let said = notice.isDue(expires: end, now: moment)
      #expect(said == isDue, "\(moment)")
    }
  }

  @Test("is looked at by doctor: what a running relay shows, else what is in the file")
  func doctor() {
    let facts = CertificateFacts(expires: now + .seconds(13 * 86_400), begins: now, keyPin: "")
    var configuration = RelayConfiguration(dataDirectory: "/none")
    let file = PEMFile(path: "/c.pem", bytes: [])
    configuration.admin.tls = .init(certificate: file, key: file, facts: facts)
    func checks(_ status: JSONValue?) -> [DoctorCheck] {
      CertificateExamination(configuration: configuration, status: status, now: now).checks()
    }
    #expect(checks(nil).map(\.name) == ["certificate admin"] && checks(nil)[0].isOK == false)
    func shown(_ expires: Timestamp) -> JSONValue {
      ["ingest": ["tls": ["certificate_expires_at": .string(expires.description)]]]
    }
    #expect(checks(shown(now + .seconds(15 * 86_400))).map(\.isOK) == [true])
    let ended = checks(shown(now - .seconds(1)))
    #expect(ended.map(\.name) == ["certificate ingest"] && ended[0].detail.hasPrefix("it ended on 2027"))
    #expect(checks(["ingest": ["listen": []]]).isEmpty)
  }

  @Test("isn't put into use when the library refuses it; what is shown stays", .enabled(if: TestCertificate.canBeMade))
  func prepared() throws {
    let pair = try TestCertificate("relay.test")
    let certificates = Certificates(logger: .silent)
    func tls(_ certificate: String, _ key: String) -> RelayConfiguration.TLS {
      func file(_ path: String) -> PEMFile { PEMFile(path: path, bytes: readFile(path) ?? []) }
      return .init(certificate: file(certificate), key: file(key))
    }
    let good = tls(pair.certificate, pair.key)
    #expect(try certificates.identity(nil, of: .ingest) == nil)
    #expect(try certificates.identity(good, of: .admin) != nil)
    var changed = RelayConfiguration(dataDirectory: "/none")
    changed.admin.tls = tls(pair.certificate, pair.certificate)
    let error = #expect(throws: RelayError.self) { try certificates.prepare(changed) }
    #expect(error?.description.hasPrefix("admin.tls: \(pair.certificate) can't be used for TLS: ") == true)
    #expect(!certificates.take(.admin) && certificates.shown(by: .admin) == good)
    // TLS that is new needs a restart, and is nothing to prepare.
    changed.admin.tls = good
    changed.ingest.tls = good
    try certificates.prepare(changed)
    #expect(!certificates.take(.ingest) && certificates.shown(by: .ingest) == nil)
  }
}
