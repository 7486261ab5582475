import Configuration
import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct CheckTests {
  private let directory = TemporaryDirectory()

  @Test func `Every fault is printed with its file, line and key, and the exit code is 2`() async {
    let file = directory.write("relay.yaml", "dataa: x\nupstream:\n  linger: 5\n  max_batch_events: 200\n")
    let ran = await run("check", "--config", file)
    #expect(ran.code == 2 && ran.err.isEmpty)
    #expect(
      ran.out.split(separator: "\n") == [
        "\(file):1: dataa: there is no such key here; the keys are admin, apps, data_dir, dead_letters, ingest, log, logging, positions, shutdown, sinks, upstream",
        "\(file):3: upstream.linger: \"5\" has no unit; did you mean 5s? It should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m",
        "\(file):4: upstream.max_batch_events: \"200\" is more than the most, 100; it should be a whole number from 1 to 100",
      ])
  }

  @Test func `A right configuration says what it comes to`() async {
    let file = directory.write(
      "relay.yaml",
      """
      ingest: { listen: ["127.0.0.1:1", unix:in.sock] }
      apps: [{ name: ios, write_key: sesame, default: true }, { name: web, write_key: aso_wk_2 }]
      sinks: [{ name: raw, type: ndjson, path: events/%Y.ndjson }]
      """)
    let ran = await run("check", "--config=\(file)")
    #expect(ran.code == 0 && ran.err.isEmpty)
    #expect(
      ran.out == """
        \(file):2: apps[0].write_key: the key does not begin with aso_wk_, as the upstream's keys do; is it the right one? (a warning)
        configuration    \(file) is right
        takes events at  127.0.0.1:1, unix:\(directory.path)/in.sock
        admin at         127.0.0.1:8788
        keeps data in    \(directory.path)/data
        log              at most 8GiB in segments of 64MiB, durability fsync
        keys             any
        sends to         https://api.app-store-operator.com
        app              ios (default)
        app              web
        sink             raw (ndjson): \(directory.path)/events/%Y.ndjson

        """)
    #expect(!ran.out.contains("sesame"))
  }

  @Test func `An app of another protocol says so, and how many persons are left out`() async {
    _ = directory.write("deny.txt", "sesame\n")
    let file = directory.write(
      "relay.yaml",
      """
      apps:
        - { name: site, protocol: datalyr, write_key: dk_1, default: true, upstream: { url: https://up.example/track } }
        - { name: ios, write_key: aso_wk_1, consent: { deny_ids_file: deny.txt } }
      """)
    let ran = await run("check", "--config", file)
    #expect(ran.code == 0)
    #expect(
      ran.out.split(separator: "\n").filter { $0.hasPrefix("app ") } == [
        "app              site (default, datalyr, to https://up.example)", "app              ios (leaves out 1 id)",
      ])
    #expect(!ran.out.contains("sesame"))
  }

  @Test func `JSON has the faults and warnings as objects`() async throws {
    let file = directory.write("relay.yaml", "a: 1")
    let value = try JSONValue(parsing: await run("check", "--config", file, "--json").out)
    #expect(value["ok"] == false)
    #expect(value["faults"]?.array?.first?["line"] == 1)
  }

  @Test func `What waits and doesn't fit is said`() async {
    var relay = RelayPort.none
    relay.misfits = { _ in ["12 events wait for app ios, which is no longer there"] }
    let ran = await run("check", "--config", directory.write("relay.yaml", ""), relay: relay)
    #expect(ran.code == 0)
    #expect(ran.out.hasPrefix("12 events wait for app ios"))
  }

  @Test func `Without a name the first file that is there is taken`() async {
    let file = directory.write("second.yaml", "")
    #expect(await run("check", files: [directory.file("first.yaml"), file]).out.contains("\(file) is right"))
    let ran = await run("check", files: ["/nowhere/a.yaml", "/nowhere/b.yaml"])
    #expect(ran.code == 2)
    #expect(
      ran.err
        == "event-relay check: no configuration: there is neither /nowhere/a.yaml nor /nowhere/b.yaml; name one with --config FILE\n"
    )
  }

  @Test func `A missing file says so`() async {
    let ran = await run("check", "--config", "/nowhere/a.yaml")
    #expect(ran.code == 2 && ran.out == "/nowhere/a.yaml: there is no such file; check the path\n")
  }

  @Test func `Run hands the relay its configuration, and a way to read it again`() async {
    let file = directory.write("relay.yaml", "data_dir: ${D}")
    var relay = RelayPort.none
    relay.run = { configuration, options, environment, source in
      let again = try? source.read().get()
      let isRight = configuration.dataDirectory == "/x" && again == configuration && environment == ["D": "/x"]
      return isRight && options == .init(standsIn: true, adopts: true) ? 0 : 1
    }
    let ran = await run("run", "--config", file, "--stand-in", "--adopt", environment: ["D": "/x"], relay: relay)
    #expect(ran.code == 0 && ran.out.isEmpty)
    #expect(await run("run", "--config", file, environment: ["D": "/x"], relay: relay).code == 1)
  }

  @Test func `Run with a wrong configuration prints the faults to standard error`() async {
    let ran = await run("run", "--config", directory.write("relay.yaml", "a: 1\nb: 2"))
    #expect(ran.code == 2 && ran.out.isEmpty)
    #expect(ran.err.split(separator: "\n").count == 2)
    #expect(ran.err.hasPrefix("\(directory.path)/relay.yaml:1: a: "))
  }
}
