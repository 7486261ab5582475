import Foundation
import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct DeadLettersTests {
  private let directory = TemporaryDirectory()
  private let configuration: String

  init() throws {
    let port = LoopbackServer.closedPort()
    configuration = directory.write("relay.yaml", "admin: { listen: 127.0.0.1:\(port) }")
    try Self.write(Self.lines, to: "\(directory.path)/data/dead-letters")
  }

  private static func write(_ lines: [String], to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let text = lines.joined(separator: "\n") + "\n"
    try text.write(toFile: "\(path)/20261130T070000.000Z-upstream.ndjson", atomically: false, encoding: .utf8)
  }

  private static let lines = [
    line(1, at: "2026-11-30T07:00:00.000Z", app: "ios", code: "invalid_write_key"),
    line(2, at: "2026-11-30T07:30:00.000Z", app: "web", code: "invalid_name"),
  ]

  private static func line(_ number: Int, at: String, app: String, code: String) -> String {
    #"{"received_at":"2026-11-30T06:00:00.000Z","relay":"r1","app":"\#(app)","kind":"event","seq":\#(number),"#
      + #""destination":"upstream","reason":"refused","status":401,"code":"\#(code)","message":"m","attempts":1,"at":"\#(at)","#
      + #""event":\#(goodEvent(number))}"#
  }

  private func list(_ words: String...) async -> Ran {
    await run(["dead-letters", "list", "--config", configuration] + words)
  }

  @Test func `They are listed as a table`() async {
    let ran = await list()
    #expect(ran.code == 0 && ran.err.isEmpty)
    #expect(
      ran.out == """
        AT                        DESTINATION  APP  REASON   STATUS  CODE               ATTEMPTS  EVENT ID                              PLACE
        2026-11-30T07:00:00.000Z  upstream     ios  refused     401  invalid_write_key         1  00000000-0000-4000-8000-000000000001  20261130T070000.000Z-upstream.ndjson:1
        2026-11-30T07:30:00.000Z  upstream     web  refused     401  invalid_name              1  00000000-0000-4000-8000-000000000002  20261130T070000.000Z-upstream.ndjson:2

        """)
  }

  @Test(arguments: [
    (["--app", "ios"], [1]), (["--code", "invalid_name"], [2]), (["--destination", "raw"], []),
    (["--since", "45m"], [2]), (["--until", "2026-11-30T07:30:00Z"], [1]), (["--since", "2026-11-30"], [1, 2]),
    (["--since", "2026-11-30T10:15:00+03:00"], [2]), (["--limit", "1"], [1]),
  ])
  func `Filters say which`(_ words: [String], _ expected: [Int]) async throws {
    let ran = await run(["dead-letters", "list", "--json", "--config", configuration] + words)
    let numbers = try ran.out.split(separator: "\n").map {
      try JSONValue(parsing: String($0))["seq"]?.integer(as: Int.self)
    }
    #expect(ran.code == 0 && numbers == expected)
    if expected.isEmpty { #expect(ran.err == "no dead letters\n") }
    if words.first == "--limit" { #expect(ran.err == "there are more; --limit says how many are listed\n") }
  }

  @Test func `A wrong time says how times are written`() async {
    let ran = await list("--since", "yesterday")
    #expect(ran.code == 2)
    #expect(
      ran.err.contains("--since wants a time such as 2026-10-23, 2026-10-23T12:00:00Z or 2h (ago), not \"yesterday\""))
  }

  @Test func `One is shown by its id or its place`() async {
    for reference in ["00000000-0000-4000-8000-000000000002", "20261130T070000.000Z-upstream.ndjson:2"] {
      let ran = await run("dead-letters", "show", reference, "--config", configuration)
      #expect(ran.code == 0 && ran.out == Self.lines[1] + "\n")
    }
    let none = await run("dead-letters", "show", "nothing", "--config", configuration)
    #expect(none.code == 1 && none.err.hasPrefix("there is no dead letter \"nothing\""))
  }

  @Test func `They are exported as they are kept`() async {
    let ran = await run("dead-letters", "export", "--config", configuration)
    #expect(ran.out == Self.lines.map { $0 + "\n" }.joined())
  }

  @Test func `Before the first start there are none`() async {
    let fresh = directory.write("fresh.yaml", "data_dir: elsewhere\nadmin: { listen: unix:none.sock }")
    let ran = await run("dead-letters", "list", "--config", fresh)
    #expect(ran.code == 0 && ran.out.isEmpty)
    #expect(
      ran.err
        == "\(directory.path)/elsewhere is not there: no relay has run with this configuration yet\nno dead letters\n")
  }

  @Test func `With the stand-in its own directory counts`() async throws {
    let server = LoopbackServer { _, _ in .init(body: #"{"stand_in":{"listen":"127.0.0.1:1"}}"#) }
    try Self.write([Self.lines[0]], to: "\(directory.path)/data-stand-in/dead-letters")
    let file = directory.write("trial.yaml", "admin: { listen: 127.0.0.1:\(server.port) }")
    let ran = await run("dead-letters", "export", "--config", file)
    #expect(ran.out == Self.lines[0] + "\n")
  }
}
