import Clocks
import Glibc
import TestSupport
import Testing

@testable import Configuration

@Suite("A listener's TLS keys")
struct TLSTests {
  private let directory = TemporaryDirectory()
  private let certificate: String
  private let key: String
  private let otherKey: String

  init() {
    certificate = directory.write("c.pem", TestPair.certificate)
    key = directory.write("k.pem", TestPair.key)
    otherKey = directory.write("o.pem", TestPair.otherKey)
  }

  private func text(_ tls: String, listener: String = "ingest", _ further: String = "") -> String {
    "\(listener):\n  tls: { \(tls) }\n\(further)"
  }

  @Test("are none by default, and taken with what the certificate says of itself")
  func taken() throws {
    #expect(try parse("").get().ingest.tls == nil && parse("ingest: { tls: ~ }").get().ingest.tls == nil)
    #expect(try parse(text("certificate: ~, key: ~, client_ca: ~")).get().ingest.tls == nil)
    let pair = "certificate: \(certificate), key: \(key)"
    let read = try parse(text("\(pair), client_ca: \(certificate)", "admin: { tls: { \(pair) } }")).get()
    let tls = try #require(read.ingest.tls)
    #expect(tls.certificate.path == certificate && tls.key.bytes == Array(TestPair.key.utf8))
    #expect(tls.clientCA?.bytes == Array(TestPair.certificate.utf8))
    #expect(tls.facts?.expires.description == "2126-11-06T13:20:19.000Z")
    #expect(tls.facts?.keyPin.hasPrefix("sha256//") == true && tls.facts?.keyPin.utf8.count == 52)
    #expect(read.admin.tls?.clientCA == nil && read.admin.tls?.facts == tls.facts)
    #expect(read.warnings.isEmpty)
  }

  @Test("name what is wrong with the files, and what would be right")
  func wrong() {
    let cut = directory.write("cut.pem", String(TestPair.certificate.prefix(200)))
    let second = directory.write("chain.pem", "\(TestPair.certificate)\n\(TestPair.certificate.prefix(200))")
    let text = directory.write("text.pem", "nothing")
    let cases: [(String, [String])] = [
      (
        "certificate: /none.pem, key: \(key)",
        ["certificate: \"/none.pem\": there is no such file; check the path"]
      ),
      (
        "certificate: \(directory.path), key: \(key)",
        ["certificate: \"\(directory.path)\": is a directory; name the file in it"]
      ),
      (
        "certificate: \(text), key: \(text)",
        [
          "certificate: \"\(text)\": holds no certificate; it should hold PEM, with a line -----BEGIN CERTIFICATE-----",
          "key: \"\(text)\": holds no key; it should hold PEM, with a line -----BEGIN PRIVATE KEY-----",
        ]
      ),
      (
        "certificate: \(cut), key: \(key)",
        ["certificate: \(cut) holds no certificate that can be read; is it whole?"]
      ),
      (
        "certificate: \(second), key: \(key)",
        ["certificate: \(second) holds a certificate that can't be read, behind the first; is it whole?"]
      ),
      (
        "certificate: \(certificate), key: \(otherKey)",
        ["key: \(otherKey) is not the key of the certificate in \(certificate); give both of one pair"]
      ),
      (
        "certificate: \(certificate), key: \(key), client_ca: \(cut)",
        ["client_ca: \(cut) holds a certificate that can't be read; is it whole?"]
      ),
      (
        "client_ca: \(certificate)",
        ["certificate", "key"].map {
          "\($0): is missing; it should be the path of a PEM file: TLS takes both certificate and key"
        }
      ),
      (
        "certificate: \(certificate), key: \(key), ca: \(certificate)",
        ["ca: there is no such key here; the keys are certificate, client_ca, key"]
      ),
    ]
    for (tls, expected) in cases {
      #expect(faults(self.text(tls)) == expected.map { "2: ingest.tls.\($0)" })
      #expect(faults(self.text(tls, listener: "admin")) == expected.map { "2: admin.tls.\($0)" })
    }
  }

  @Test("warn of what ends, of a key that others may read, and of TLS on a unix socket", .enabled(if: canBeMade))
  func warned() throws {
    func found(_ pair: TestCertificate, _ further: String = "") throws -> [String] {
      try warnings(text("certificate: \(pair.certificate), key: \(pair.key)\(further)"))
    }
    let good = try TestCertificate("good", in: directory, days: 30)
    #expect(try found(good).isEmpty)
    let soon = try TestCertificate("soon", in: directory, days: 3)
    #expect(try found(soon).first?.contains("in less than 14 days; get a new one") == true)
    let ended = try TestCertificate("ended", in: directory, days: -1)
    #expect(try found(ended).first?.contains("ended on 20") == true)
    #expect(try found(good, ", client_ca: \(ended.certificate)").first?.hasPrefix("2: ingest.tls.client_ca") == true)
    for (mode, isTold) in [(0o600, false), (0o640, false), (0o644, true), (0o660, true), (0o602, true)] {
      chmod(good.key, mode_t(mode))
      #expect(try found(good).contains { $0.contains("chmod 600, or 640") } == isTold)
    }
    chmod(good.key, 0o600)
    let pair = "tls: { certificate: \(good.certificate), key: \(good.key) }"
    #expect(
      try warnings("ingest: { listen: unix:/s, \(pair) }") == [
        "1: ingest.tls.certificate: has no effect: unix:/s is a unix socket, whose permissions say who may connect; TLS is for host:port"
      ])
    #expect(try warnings("ingest: { listen: [\"unix:/s\", \"127.0.0.1:1\"], \(pair) }").isEmpty)
    #expect(try warnings("admin: { listen: unix:/s, \(pair) }").count == 1)
  }

  private static let canBeMade = TestCertificate.canBeMade

  @Test("let other machines reach the admin listener without a token, when clients must show a certificate")
  func reach() throws {
    let pair = "certificate: \(certificate), key: \(key)"
    func admin(_ keys: String) -> String { "admin: { listen: 0.0.0.0:1, \(keys) }" }
    #expect(faults(admin("tls: { \(pair) }")).first?.contains("neither admin.token nor") == true)
    #expect(try warnings(admin("tls: { \(pair), client_ca: \(certificate) }")).isEmpty)
    let token = "token: 0123456789abcdef"
    #expect(try warnings(admin("\(token), tls: { \(pair) }")).isEmpty)
    #expect(try warnings(admin(token)).first?.contains("whoever is on the way reads the token") == true)
  }

  @Test("tell one who only looks for the relay that TLS is spoken, whatever he may read or knows of the environment")
  func asking() throws {
    let file = directory.write(
      "relay.yaml",
      #"admin: { tls: { certificate: none.pem, key: "${UNSET}/k.pem", client_ca: "${UNSET}/ca.pem" } }"#)
    let read = try ConfigurationLoader.loadForAsking(
      file: file, environment: [:], sinkTypes: [], protocols: TestProtocols.all
    ).get()
    #expect(read.admin.tls?.certificate.path == directory.file("none.pem"))
    #expect(read.admin.tls?.key.path == "" && read.admin.tls?.clientCA != nil)
  }
}
