import EventLog
import HTTPClient

/// Why a batch is sent again later.
enum WebhookTrouble: Sendable, Equatable {
  /// There was no answer, or half of one.
  case network(TransportFailure)
  /// 429.
  case rateLimited
  /// 408, 425 or 5xx.
  case fault(status: Int)
  /// 3xx.
  case redirect(status: Int)
  /// An answer that no receiver of webhooks gives.
  case foreign(status: Int)

  /// The answer's status; nil when there was none.
  var status: Int? {
    switch self {
    case .network: nil
    case .rateLimited: 429
    case .fault(let status), .redirect(let status), .foreign(let status): status
    }
  }

  var state: DestinationStatus.State {
    switch self {
    case .network, .rateLimited, .fault: .waiting
    case .redirect, .foreign: .foreign
    }
  }

  /// What happened and what to look at, in sentences.
  var detail: String {
    switch self {
    case .network(let failure):
      "No answer from the receiver (\(failure.kind.rawValue)): \(failure.description)\(Self.advice(on: failure.kind))."
    case .rateLimited: "The receiver answered 429, too many requests."
    case .fault(let status): "The receiver answered \(status), which asks for another try."
    case .redirect(let status):
      "The receiver answered \(status), a redirect, and redirects are not followed: set url to where it has moved."
    case .foreign(let status):
      "Status \(status) is no answer of a receiver: does a proxy stand between, or is url wrong?"
    }
  }

  private static func advice(on kind: TransportFailure.Kind) -> String {
    switch kind {
    case .resolve: "; check the host in url, and this machine's DNS"
    case .tls:
      "; if its certificate comes from a CA of your own, name that in ca_file; if it asks for a certificate, give it "
        + "client_certificate"
    case .connect, .timeout, .reset, .protocolError, .other: ""
    }
  }
}
