import HTTPServer
import TestSupport
import Testing

@testable import Relay

@Suite("Access to the admin listener")
struct AdminAccessTests {
  private let loopback = AdminAccess(
    listen: .tcp(host: "127.0.0.1", port: 8788), hosts: ["relay.internal"], token: nil)

  @Test(
    "is given to requests that name the listener, localhost or a configured name",
    arguments: ["127.0.0.1:8788", "127.0.0.1", "localhost", "LOCALHOST:1", "relay.internal:8788"])
  func allowed(host: String) {
    #expect(loopback.refusal(host: host, authorization: nil, path: "/status") == nil)
  }

  @Test(
    "is refused to a web page's idea of a host",
    arguments: [nil, "", "evil.example", "evil.example:8788", "127.0.0.1.evil.example", "127.0.0.2", "[::1]:8788"]
      as [String?])
  func refused(host: String?) {
    #expect(loopback.refusal(host: host, authorization: nil, path: "/livez")?.status == 403)
  }

  @Test("names an IPv6 listener in brackets")
  func version6() {
    let access = AdminAccess(listen: .tcp(host: "::1", port: 1), hosts: [], token: nil)
    #expect(access.refusal(host: "[::1]:1", authorization: nil, path: "/status") == nil)
    #expect(access.refusal(host: "[::2]:1", authorization: nil, path: "/status")?.status == 403)
  }

  @Test("takes any address, but no other name, where the listener is bound to all of them")
  func wildcard() {
    let access = AdminAccess(listen: .tcp(host: "0.0.0.0", port: 1), hosts: [], token: "t")
    #expect(access.refusal(host: "192.0.2.7:1", authorization: "Bearer t", path: "/status") == nil)
    #expect(access.refusal(host: "a.example", authorization: "Bearer t", path: "/status")?.status == 403)
  }

  @Test("takes the addresses of a listener that is given as a name")
  func names() {
    let local = AdminAccess(listen: .tcp(host: "localhost", port: 1), hosts: [], token: nil)
    for host in ["localhost:1", "127.0.0.1:1", "[::1]"] {
      #expect(local.refusal(host: host, authorization: nil, path: "/status") == nil)
    }
    #expect(local.refusal(host: "192.0.2.7", authorization: nil, path: "/status")?.status == 403)
    let named = AdminAccess(listen: .tcp(host: "relay.internal", port: 1), hosts: [], token: nil)
    for host in ["relay.internal:1", "192.0.2.7:1"] {
      #expect(named.refusal(host: host, authorization: nil, path: "/status") == nil)
    }
    #expect(named.refusal(host: "evil.example", authorization: nil, path: "/status")?.status == 403)
  }

  @Test("takes configured hosts as they may be written: with a port, in brackets or not")
  func configured() {
    let access = AdminAccess(
      listen: .tcp(host: "127.0.0.1", port: 1), hosts: ["Relay.Internal:8788", "[2001:db8::1]:8788", "2001:db8::2"],
      token: nil)
    for host in ["relay.internal", "relay.internal:1", "[2001:DB8::1]", "[2001:db8::2]:7"] {
      #expect(access.refusal(host: host, authorization: nil, path: "/status") == nil)
    }
  }

  @Test("wants the token on every path but the health ones")
  func token() {
    let access = AdminAccess(listen: .tcp(host: "127.0.0.1", port: 1), hosts: [], token: "secret")
    func status(_ authorization: String?, _ path: String) -> Int? {
      access.refusal(host: "localhost", authorization: authorization, path: path)?.status
    }
    for path in ["/livez", "/readyz", "/healthz"] { #expect(status(nil, path) == nil) }
    for wrong in [nil, "", "secret", "Bearer", "Bearer secret2", "Bearer secre", "Basic secret"] {
      #expect(status(wrong, "/metrics") == 401)
    }
    for right in ["Bearer secret", "bearer  secret"] { #expect(status(right, "/flush") == nil) }
  }

  @Test("asks for certificates of the authorities that are wanted now, on every path, and of a unix socket for none")
  func authorities() {
    func status(_ wanted: [UInt8]?, shown: [UInt8]?, path: String, _ listen: ListenAddress, token: String?) -> Int? {
      AdminAccess(listen: listen, hosts: [], token: token, authorities: wanted).refusal(
        host: "localhost", authorization: token.map { "Bearer \($0)" }, path: path, authorities: shown)?.status
    }
    let inside = ListenAddress.tcp(host: "127.0.0.1", port: 1)
    for (path, token) in [("/livez", nil), ("/drain", nil), ("/drain", "secret")] as [(String, String?)] {
      for shown in [nil, [], [2]] as [[UInt8]?] {
        #expect(status([1], shown: shown, path: path, inside, token: token) == 421)
        #expect(status(nil, shown: shown, path: path, inside, token: token) == nil)
        #expect(status([1], shown: shown, path: path, .unix(path: "/s"), token: token) == nil)
      }
      #expect(status([1], shown: [1], path: path, inside, token: token) == nil)
    }
  }

  @Test("compares what is shown with the token once, by one function, whatever comes of it")
  func comparison() {
    let seen = Fact<[[String]]>([])
    let recording = SecretComparison { shown, secret in
      seen.change { $0.append([shown, secret]) }
      return SecretComparison.constantTime.isSame(shown, secret)
    }
    let access = AdminAccess(
      listen: .tcp(host: "127.0.0.1", port: 1), hosts: [], token: "secret", comparison: recording)
    let cases: [(String?, String, Bool)] = [
      (nil, "", false), ("", "", false), ("Bearer", "", false), ("Basic secret", "", false), ("Bearer ", "", false),
      ("Bearer s", "s", false), ("Bearer secreT", "secreT", false), ("Bearer Secret", "Secret", false),
      ("Bearer secret2", "secret2", false), ("Bearer secret", "secret", true),
    ]
    for (authorization, shown, isRight) in cases {
      seen.change { $0 = [] }
      let refusal = access.refusal(host: "localhost", authorization: authorization, path: "/status")
      #expect((refusal == nil) == isRight && seen.value == [[shown, "secret"]])
    }
  }

  @Test("a secret is the same as itself and as nothing else, however long")
  func same() {
    let isSame = SecretComparison.constantTime.isSame
    let texts = ["", "a", "b", "ab", String(repeating: "a", count: 512), String(repeating: "a", count: 511) + "b", "é"]
    for (at, one) in texts.enumerated() {
      for (other, text) in texts.enumerated() { #expect(isSame(one, text) == (at == other)) }
    }
  }
}
