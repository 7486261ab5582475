import Dialects
import HTTPServer
import Observability
import StandIn

/// The stand-in upstream in this process, on a free loopback port: of every protocol, since apps may speak any.
final class EmbeddedStandIn: Sendable {
  private let server: StandInServer
  let address: String
  var url: String { "http://\(address)" }

  init(_ directory: String, logger: Logger) throws {
    var configuration = StandInConfiguration(
      listen: .tcp(host: "127.0.0.1", port: 0), dataDirectory: "\(directory)/stand-in")
    configuration.protocols = DialectRegistry.all
    server = StandInServer(configuration, logger: logger)
    try server.start()
    address = server.address?.description ?? ""
  }

  func stop() async { await server.stop() }
}
