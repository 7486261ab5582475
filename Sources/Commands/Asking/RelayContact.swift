import Configuration
import EventsAPI
import HTTPClient
import JSON

/// Asks a running relay at its admin address.
struct RelayContact: Sendable {
  enum Problem: Error, Equatable {
    /// Nothing listens there.
    case notRunning(String)
    /// Something is there, and it doesn't answer as it should.
    case failed(String)

    var failure: CommandFailure {
      switch self {
      case .notRunning(let text), .failed(let text): CommandFailure(text)
      }
    }
  }

  private struct Address {
    var url: String
    var unixSocket: String?
    /// For messages.
    var shown: String
  }

  let configuration: RelayConfiguration
  let relay: RelayPort

  /// The answer's JSON object.
  ///
  /// - Parameter timeout: until the whole answer is there.
  func ask(
    _ method: String, _ path: String, body: JSONValue? = nil, timeout: Duration = .seconds(10),
    over client: any HTTPSending
  ) async -> Result<JSONValue, Problem> {
    var problem = Problem.notRunning(
      "no relay runs with this configuration: admin.listen leaves the port to the system, and no relay has written "
        + "its own to \(PrintableText.of(configuration.dataDirectory))")
    for address in addresses() {
      let headers = configuration.admin.token.map { ["Authorization: Bearer \($0.revealed)"] } ?? []
      let answer = await client.send(
        HTTPClientRequest(
          method: method, url: address.url + path, headers: headers, body: body.map { RequestBody($0.utf8) },
          timeout: timeout, connectTimeout: .seconds(5),
          unixSocket: address.unixSocket))
      switch read(answer, address) {
      case .success(let value): return .success(value)
      case .failure(let failure):
        problem = failure
        if case .failed = failure { return .failure(failure) }
      }
    }
    return .failure(problem)
  }

  /// The directory in which the relay that runs keeps its data; that of the configuration when none does.
  ///
  /// A relay with the stand-in upstream has a directory of its own beside it.
  func dataDirectory(over client: any HTTPSending) async -> String {
    guard case .success(let status) = await ask("GET", "/status", over: client), status["stand_in"] != nil else {
      return configuration.dataDirectory
    }
    return Self.standInDirectory(configuration.dataDirectory)
  }

  static func standInDirectory(_ dataDirectory: String) -> String { "\(dataDirectory)-stand-in" }

  private func addresses() -> [Address] {
    switch configuration.admin.listen {
    case .unix(let path): return [Address(url: "http://localhost", unixSocket: path, shown: "unix:\(path)")]
    case .tcp(let host, let port) where port != 0:
      let reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
      let shown = RelayConfiguration.Address.tcp(host: reachable, port: port).description
      return [Address(url: "http://\(shown)", shown: shown)]
    case .tcp:
      let directory = configuration.dataDirectory
      return [directory, Self.standInDirectory(directory)].compactMap { relay.adminAddress($0) }
        .map { Address(url: "http://\($0)", shown: $0) }
    }
  }

  private func read(_ answer: Result<HTTPAnswer, TransportFailure>, _ address: Address) -> Result<JSONValue, Problem> {
    switch answer {
    case .failure(let failure):
      let text = "no relay answers at \(address.shown), the admin address: \(failure)"
      return .failure(failure.kind == .connect || failure.kind == .resolve ? .notRunning(text) : .failed(text))
    case .success(let answer):
      let value = try? JSONValue(parsing: answer.body)
      if answer.status == 200, let value { return .success(value) }
      let words = value?["message"]?.string.map { ": \(PrintableText.of($0))" } ?? ""
      guard answer.status == 401 else {
        return .failure(
          .failed(
            "what answers at \(address.shown), the admin address, says HTTP \(answer.status)\(words)"
              + (words.isEmpty ? "; is it a relay?" : "")))
      }
      return .failure(
        .failed(
          configuration.admin.token == nil
            ? "the relay at \(address.shown) wants its admin token; set the variable that admin.token names"
            : "the relay at \(address.shown) has another admin token; has the configuration changed since its start?"))
    }
  }
}
