import HTTPServer
import Observability
import StandIn

/// The stand-in upstream in this process, on a free loopback port.
final class EmbeddedStandIn: Sendable {
  private let server: StandInServer
  let address: String
  var url: String { "http://\(address)" }

  init(_ directory: String, logger: Logger) throws {
    server = StandInServer(
      StandInConfiguration(listen: .tcp(host: "127.0.0.1", port: 0), dataDirectory: "\(directory)/stand-in"),
      logger: logger)
    try server.start()
    address = server.address?.description ?? ""
  }

  func stop() async { await server.stop() }
}
