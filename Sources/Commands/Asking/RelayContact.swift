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
  /// - Parameters:
  ///   - timeout: until the whole answer is there.
  ///   - accepted: the statuses whose JSON is an answer and no failure.
  func ask(
    _ method: String, _ path: String, body: JSONValue? = nil, timeout: Duration = .seconds(10),
    accepting accepted: Set<Int> = [200], over client: any HTTPSending
  ) async -> Result<JSONValue, Problem> {
    var problem = Problem.notRunning(
      "no relay runs with this configuration: admin.listen leaves the port to the system, and no relay has written "
        + "its own to \(PrintableText.of(configuration.dataDirectory))")
    let trust = trust
    if let trust, trust.keys.isEmpty {
      return .failure(
        .failed(
          "the relay's certificate, by which it is known, can't be read: \(PrintableText.of(trust.unreadable ?? "?")); "
            + "try again as a user who may read it"))
    }
    for address in addresses() {
      let headers = configuration.admin.token.map { ["Authorization: Bearer \($0.revealed)"] } ?? []
      var request = HTTPClientRequest(
        method: method, url: address.url + path, headers: headers, body: body.map { RequestBody($0.utf8) },
        timeout: timeout, connectTimeout: .seconds(5), unixSocket: address.unixSocket)
      (request.pinnedKeys, request.clientCertificate) = (trust?.keys ?? [], trust?.certificate)
      let answer = await client.send(request)
      switch read(answer, address, accepted, trust) {
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

  /// Nil when the admin listener speaks plain HTTP.
  private var trust: AdminTrust? {
    guard let tls = configuration.admin.tls, case .tcp = configuration.admin.listen else { return nil }
    let directory = configuration.dataDirectory
    return AdminTrust(tls, running: [directory, Self.standInDirectory(directory)].compactMap { relay.adminKey($0) })
  }

  private func addresses() -> [Address] {
    let scheme = configuration.admin.tls == nil ? "http" : "https"
    switch configuration.admin.listen {
    case .unix(let path): return [Address(url: "http://localhost", unixSocket: path, shown: "unix:\(path)")]
    case .tcp(let host, let port) where port != 0:
      let reachable = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
      let shown = RelayConfiguration.Address.tcp(host: reachable, port: port).description
      return [Address(url: "\(scheme)://\(shown)", shown: shown)]
    case .tcp:
      let directory = configuration.dataDirectory
      return [directory, Self.standInDirectory(directory)].compactMap { relay.adminAddress($0) }
        .map { Address(url: "\(scheme)://\($0)", shown: $0) }
    }
  }

  /// What may be behind a failure where TLS is spoken, or should be.
  private static func hint(_ failure: TransportFailure, _ trust: AdminTrust?) -> String {
    guard failure.kind == .tls || failure.kind == .reset else { return "" }
    if let file = trust?.unreadable {
      return "; it may want the certificate of which this user can't read \(PrintableText.of(file))"
    }
    return "; has admin.tls changed since the relay's start?"
  }

  private func read(
    _ answer: Result<HTTPAnswer, TransportFailure>, _ address: Address, _ accepted: Set<Int>, _ trust: AdminTrust?
  ) -> Result<JSONValue, Problem> {
    switch answer {
    case .failure(let failure):
      let text =
        "no relay answers at \(address.shown), the admin address: \(failure)" + Self.hint(failure, trust)
      return .failure(failure.kind == .connect || failure.kind == .resolve ? .notRunning(text) : .failed(text))
    case .success(let answer):
      let value = try? JSONValue(parsing: answer.body)
      if accepted.contains(answer.status), let value { return .success(value) }
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
