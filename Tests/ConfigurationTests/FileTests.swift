import Foundation
import Sinks
import TestSupport
import Testing

@testable import Configuration

@Suite struct FileTests {
  private let directory = TemporaryDirectory()

  private func faults(_ file: String, environment: [String: String] = [:]) -> [String] {
    guard
      case .failure(let faults) = ConfigurationLoader.load(
        file: file, environment: environment, sinkTypes: SinkRegistry.types, protocols: TestProtocols.all)
    else { return [] }
    return faults.all.map { $0.description.replacingOccurrences(of: directory.path, with: "DIR") }
  }

  @Test func `Paths are relative to the file`() throws {
    let file = directory.write("relay.yaml", "data_dir: ../x\ningest: { listen: unix:in.sock }")
    let configuration = try ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all
    ).get()
    #expect(configuration.dataDirectory == "/tmp/x")
    #expect(configuration.ingest.listen == [.unix(path: "\(directory.path)/in.sock")])
  }

  @Test func `A file that can't be read says why`() {
    #expect(faults(directory.file("none.yaml")) == ["DIR/none.yaml: there is no such file; check the path"])
    #expect(faults(directory.path) == ["DIR: is a directory; name the file in it"])
    #expect(faults("/dev/null") == ["/dev/null: is a pipe or a device, which can't be read again; name a regular file"])
    let large = directory.write("large.yaml", String(repeating: "# x\n", count: 1 << 18) + "x")
    #expect(faults(large) == ["DIR/large.yaml: is larger than 1MiB; is it the right file?"])
    #expect(
      faults(directory.file("large.yaml") + "/x") == [
        "DIR/large.yaml/x: a part of the path is no directory; check the path"
      ])
  }

  @Test(.enabled(if: geteuid() != 0)) func `A file without permission says so`() {
    let file = directory.write("shut.yaml", "")
    chmod(file, 0)
    #expect(
      faults(file) == ["DIR/shut.yaml: may not be read by this user; change its permissions or its directory's"])
  }

  @Test func `A write key comes from a file`() throws {
    _ = directory.write("key", "  aso_wk_1 \r\n")
    let file = directory.write("relay.yaml", "apps: [{ name: a, write_key_file: key }]")
    let configuration = try ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all
    ).get()
    #expect(configuration.apps[0].writeKey?.revealed == "aso_wk_1")
  }

  @Test(arguments: [
    ("", "the key in \"DIR/key\" is empty"),
    ("\n \n", "the key in \"DIR/key\" is empty"),
    ("aso_wk_1\naso_wk_2", "the key in \"DIR/key\" holds a space, a line break or another character that no key has"),
  ])
  func `A key file without a key is a fault`(_ text: String, _ message: String) {
    _ = directory.write("key", text)
    let file = directory.write("relay.yaml", "apps:\n  - name: a\n    write_key_file: key\n")
    #expect(
      faults(file) == [
        "DIR/relay.yaml:3: apps[0].write_key_file: \(message); "
          + "the file should hold a write key of 1 to 512 visible ASCII characters"
      ])
  }

  @Test func `A missing file of authorities says so`() {
    let file = directory.write("relay.yaml", "upstream:\n  ca_file: ./ca.pem")
    #expect(
      faults(file) == ["DIR/relay.yaml:2: upstream.ca_file: \"DIR/ca.pem\": there is no such file; check the path"])
  }

  @Test func `A file of authorities without a certificate says so`() {
    _ = directory.write("ca.pem", "-----BEGIN PUBLIC KEY-----\n")
    let file = directory.write("relay.yaml", "upstream:\n  ca_file: ./ca.pem")
    #expect(
      faults(file) == [
        "DIR/relay.yaml:2: upstream.ca_file: \"DIR/ca.pem\": holds no certificate; "
          + "it should hold PEM, with a line -----BEGIN CERTIFICATE-----"
      ])
    _ = directory.write("ca.pem", "A comment\n-----BEGIN CERTIFICATE-----\n")
    #expect(faults(file) == [])
  }

  @Test func `A missing key file and a directory say so`() {
    let file = directory.write(
      "relay.yaml", "apps:\n  - { name: a, write_key_file: none }\n  - { name: b, write_key_file: . }")
    #expect(
      faults(file) == [
        "DIR/relay.yaml:2: apps[0].write_key_file: \"DIR/none\": there is no such file; check the path",
        "DIR/relay.yaml:3: apps[1].write_key_file: \"DIR\": is a directory; name the file in it",
      ])
  }
}
