import Testing

@testable import Configuration

@Suite struct EnvironmentTests {
  private let environment = ["A": "1", "EMPTY": "", "LINE": "a\nlog: { durability: os }", "_x9": "z", "DOLLAR": "${A}"]

  @Test(arguments: [
    ("${A}", "1"), ("a${A}b${A}", "a1b1"), ("${B:-2}", "2"), ("${EMPTY:-2}", "2"), ("${A:-2}", "1"), ("${B:-}", ""),
    ("${EMPTY}", ""), ("$$", "$"), ("$${A}", "${A}"), ("$", "$"), ("$A", "$A"), ("a$", "a$"), ("${_x9}", "z"),
    ("${B:-a:-b}", "a:-b"), ("${B:-$A}", "$A"), ("${DOLLAR}", "${A}"), ("$$$A", "$$A"), ("", ""),
  ])
  func `Variables are filled in`(_ text: String, _ expected: String) throws {
    #expect(try EnvironmentExpansion(environment: environment).expand(text).text == expected)
  }

  @Test(arguments: ["${B}", "${", "${A", "${}", "${9}", "${A-b}", "${A:?b}", "${a b}", "${A.b}", "${ü}"])
  func `Wrong and unset variables are faults`(_ text: String) {
    #expect(throws: EnvironmentExpansion.Fault.self) {
      try EnvironmentExpansion(environment: environment).expand(text)
    }
  }

  @Test func `A variable cannot add keys or lines`() {
    let all = faults("logging: { level: \"${LINE}\" }", environment: environment)
    #expect(
      all == [
        "1: logging.level: the value, with LINE from the environment, is not known; "
          + "it should be debug or info or warning or error"
      ])
  }

  @Test func `What the environment holds is not printed`() {
    let all = faults("upstream: { linger: \"${PASSWORD}\" }", environment: ["PASSWORD": "9"])
    #expect(
      all == [
        "1: upstream.linger: the value, with PASSWORD from the environment, has no unit; "
          + "it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
      ])
  }

  @Test func `An unset variable names itself`() {
    #expect(
      faults("apps:\n  - name: a\n    write_key: ${ASO_WRITE_KEY}\n") == [
        "3: apps[0].write_key: the environment variable ASO_WRITE_KEY is not set: "
          + "set it, or give a default with ${ASO_WRITE_KEY:-default}"
      ])
  }

  @Test func `An empty variable is no value where there may be none, and a fault elsewhere`() throws {
    #expect(try parse("admin: { token: \"${T:-}\" }").get().admin.token == nil)
    #expect(
      faults("admin:\n  listen: 0.0.0.0:1\n  token: ${T}", environment: ["T": ""]) == [
        "2: admin.listen: 0.0.0.0:1 is reached from other machines, and there is neither admin.token nor "
          + "admin.tls.client_ca; set one, or listen on 127.0.0.1"
      ])
    #expect(
      faults("apps:\n  - name: a\n    write_key: ${K}", environment: ["K": ""]) == [
        "3: apps[0].write_key: the value, with K from the environment, is empty; "
          + "it should be a write key of 1 to 512 visible ASCII characters"
      ])
  }

  @Test func `The process's own environment is there`() {
    #expect(ProcessEnvironment.current["PATH"]?.isEmpty == false)
  }
}
