/// Sends requests: the client itself, or what a test has in its place.
public protocol HTTPSending: Sendable {
  func send(_ request: HTTPClientRequest) async -> Result<HTTPAnswer, TransportFailure>
}
