import Configuration
import EventLog
import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct StatusTests {
  private let directory = TemporaryDirectory()

  private func configuration(_ port: Int, _ more: String = "") -> String {
    directory.write("relay.yaml", "admin:\n  listen: 127.0.0.1:\(port)\n\(more)")
  }

  private static let status = """
    {"version":"0.1.0","relay":"r1","uptime_seconds":3725.5,"ingest":{"listen":["127.0.0.1:8787"]},
    "admin":{"listen":"127.0.0.1:8788"},"log":{"health":"ok","detail":null,"bytes":1500000,"max_bytes":8589934592,
    "segments":2,"spare_segments":1,"oldest":"2026-11-30T07:00:00.000Z","positions":{"oldest":1,"next":9},
    "dropped_events":0,"corrupt_records":2},"destinations":[
    {"name":"upstream","type":"upstream","state":"waiting","detail":"the upstream said\\u001b[2J wait","pending":12,
    "oldest_pending_seconds":61.2,"retry_at":"2026-11-30T08:01:00.000Z","last_error":"HTTP 503",
    "held_bytes":1468006,"ledger":{"accepted":20,"delivered":5,"waiting":12,"dead_lettered":3,"dropped":0,"lost":0},
    "lanes":[{"app":"ios","state":"waiting","detail":"HTTP 503","pending":12,"retry_at":null,
    "events_per_second":2.5,"parked_installs":3,"drains_in_seconds":5000}]},
    {"name":"raw","type":"ndjson","state":"running","detail":null,"pending":0,"oldest_pending_seconds":0,
    "retry_at":null,"last_error":null,"ledger":{"delivered":20,"dead_lettered":0,"dropped":0,"lost":0},"lanes":[]}],
    "ledger":{"accepted":20,"suppressed":{"total":7,"apps":{"ios":7}}}}
    """

  @Test func `The running relay's status is a table`() async {
    let server = LoopbackServer { _, _ in .init(body: Self.status) }
    let ran = await run("status", "--config", configuration(server.port))
    #expect(ran.code == 0 && ran.err.isEmpty)
    #expect(server.requests.map(\.target) == ["GET /status"])
    #expect(
      ran.out == """
        relay            0.1.0, up 1h2m, instance r1
        takes events at  127.0.0.1:8787
        admin at         127.0.0.1:8788
        log              ok, 1.4 MiB of 8.0 GiB, 2 segments, oldest 2026-11-30T07:00:00.000Z
        damaged          2 records of the log; event-relay log verify says where
        accepted         20 events
        suppressed       7 events, kept out by deny lists (ios 7)

        DESTINATION  TYPE      STATE    WAITING  OLDEST  DELIVERED  DEAD  DROPPED  LOST    HOLDS  RETRY AT
        upstream     upstream  waiting       12    1m1s          5     3        0     0  1.4 MiB  2026-11-30T08:01:00.000Z
        raw          ndjson    running        0       -         20     0        0     0        -  -

        DESTINATION  APP  STATE    WAITING  EVENTS/S  PARKED INSTALLS  DRAINS IN  RETRY AT
        upstream     ios  waiting       12       2.5                3      1h23m  -

        upstream: the upstream said [2J wait
        upstream: last error: HTTP 503
        upstream, ios: HTTP 503

        """)
  }

  @Test func `JSON is the answer itself`() async throws {
    let server = LoopbackServer { _, _ in .init(body: Self.status) }
    let ran = await run("status", "--json", "--config", configuration(server.port))
    #expect(try JSONValue(parsing: ran.out) == JSONValue(parsing: Self.status))
  }

  @Test func `The admin token is sent, and a missing one is explained`() async {
    let server = LoopbackServer { request, _ in
      request.head.contains("\r\nauthorization: bearer 0123456789abcdef\r\n")
        ? .init(body: "{}") : .init(status: 401, body: #"{"code":"unauthorized","message":"Send it."}"#)
    }
    let file = configuration(server.port, "  token: ${ADMIN_TOKEN}\napps: [{ name: a, write_key: ${NOT_SET_HERE} }]\n")
    let text =
      "admin:\n  listen: 127.0.0.1:\(server.port)\n  token: ${ADMIN_TOKEN}\napps:\n  - { name: a, write_key: \"${NOT_SET}\" }\n"
    _ = file
    let right = directory.write("right.yaml", text)
    #expect(await run("status", "--config", right, environment: ["ADMIN_TOKEN": "0123456789abcdef"]).code == 0)
    let without = await run("status", "--config", right)
    #expect(without.code == 1)
    #expect(without.err.contains("wants its admin token; set the variable that admin.token names"))
    let other = await run("status", "--config", right, environment: ["ADMIN_TOKEN": "another-token-0123"])
    #expect(other.err.contains("has another admin token; has the configuration changed since its start?"))
    #expect(!other.err.contains("another-token-0123"))
  }

  @Test func `Something else at the address is not taken for a relay`() async {
    let server = LoopbackServer { _, _ in .init(status: 404, body: "<html>") }
    let ran = await run("status", "--config", configuration(server.port))
    #expect(ran.code == 1)
    #expect(
      ran.err
        == "event-relay status: what answers at 127.0.0.1:\(server.port), the admin address, says HTTP 404; is it a relay?\n"
    )
  }

  @Test func `When no relay runs its files are read`() async {
    let port = LoopbackServer.closedPort()
    let file = configuration(port)
    var relay = RelayPort.none
    relay.offlineStatus = { _ in ["version": "0.1.0"] }
    let ran = await run("status", "--config", file, relay: relay)
    #expect(ran.code == 0 && ran.out == "relay  0.1.0\n")
    #expect(ran.err == "no relay runs; this is what its files say\n")
    relay.offlineStatus = { _ in throw LogError("can't open the lock") }
    let unreadable = await run("status", "--config", file, relay: relay)
    #expect(unreadable.code == 1)
    #expect(unreadable.err.hasSuffix("; and the relay's files can't be read: can't open the lock\n"))
    let nothing = await run("status", "--config", file)
    #expect(nothing.code == 1)
    #expect(nothing.err.hasPrefix("event-relay status: no relay answers at 127.0.0.1:\(port), the admin address: "))
  }

  @Test func `A port that the system chose is found in the data directory`() async {
    let server = LoopbackServer { _, _ in .init(body: "{}") }
    let file = configuration(0)
    var relay = RelayPort.none
    let standIn = "\(directory.path)/data-stand-in"
    relay.adminAddress = { $0 == standIn ? "127.0.0.1:\(server.port)" : nil }
    #expect(await run("status", "--config", file, relay: relay).code == 0)
    let ran = await run("status", "--config", file)
    #expect(ran.code == 1 && ran.err.contains("admin.listen leaves the port to the system"))
  }

  @Test func `Flush says what went and what stays`() async {
    let server = LoopbackServer { request, index in .init(body: "{\"flushed\":\(index + 1),\"pending\":\(index)}") }
    let file = configuration(server.port)
    let all = await run("flush", "--config", file, "--timeout", "1m")
    #expect(all.code == 0 && all.out == "1 event sent, 0 still waiting\n")
    let some = await run("flush", "--config", file)
    #expect(some.code == 1 && some.out == "2 events sent, 1 still waiting\n")
    #expect(await run("flush", "--json", "--config", file).out == "{\"flushed\":3,\"pending\":2}\n")
    #expect(
      server.requests.map(\.target) == [
        "POST /flush?timeout=60000ms", "POST /flush?timeout=2000ms", "POST /flush?timeout=2000ms",
      ])
    #expect(await run("flush", "--config", file, "--timeout", "2h").code == 2)
  }
}
