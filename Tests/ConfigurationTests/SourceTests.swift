import Sinks
import TestSupport
import Testing

@testable import Configuration

@Suite("A configuration that is read again and again")
struct SourceTests {
  private let directory = TemporaryDirectory()

  private func key(_ result: Result<RelayConfiguration, ConfigurationFaults>) throws -> String? {
    try result.get().apps.first?.writeKey?.revealed
  }

  @Test("what its files hold is read with the text that is in use, until another text is accepted")
  func files() throws {
    let key = directory.write("key", "aso_wk_1")
    let text = "apps: [{ name: ios, write_key_file: key }]"
    let file = directory.write("relay.yaml", text)
    let source = ConfigurationSource(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all)
    #expect(try self.key(source.read()) == "aso_wk_1")
    #expect(source.files.isEmpty)
    source.accept()
    #expect(source.files == [key])

    _ = directory.write("key", "aso_wk_2")
    _ = directory.write("other", "aso_wk_3")
    _ = directory.write("relay.yaml", text.replacing("_file: key", with: "_file: other"))
    #expect(try self.key(source.readFilesAgain()) == "aso_wk_2")
    #expect(try self.key(source.read()) == "aso_wk_3")
    #expect(try self.key(source.readFilesAgain()) == "aso_wk_2")
    _ = source.read()
    source.accept()
    #expect(source.files == [directory.file("other")])
    #expect(try self.key(source.readFilesAgain()) == "aso_wk_3")
  }

  @Test("a file that it names and that can't be used is a fault, and is watched")
  func missing() throws {
    let file = directory.write("relay.yaml", "apps: [{ name: ios, write_key_file: key }]")
    let source = ConfigurationSource(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all)
    _ = directory.write("key", "aso_wk_1")
    _ = source.read()
    source.accept()
    _ = directory.write("key", "")
    #expect(throws: ConfigurationFaults.self) { try source.readFilesAgain().get() }
    #expect(source.files == [directory.file("key")])
  }
}
