import Configuration
import HTTPClient

/// What a webhook is told.
public struct WebhookOptions: SinkOptions {
  /// Bytes of the log that a webhook may be behind unless it is told otherwise.
  static let maxBehindUsual = 1 << 30

  var url: String
  /// What requests are signed with: one, or several while one follows another; none: they aren't signed.
  var secrets: [WebhookSecret] = []
  var headers: [WebhookHeader] = []
  var caFile: String?
  var clientCertificate: ClientCertificate?
  var maxBatchEvents = 100
  /// How long a part-filled batch waits for more events.
  var linger: Duration = .seconds(1)
  /// From a request's start to the answer's last byte.
  var timeout: Duration = .seconds(15)
  var retry = WebhookRetry()
  /// The user said nothing about `max_behind`.
  var hasUsualMaxBehind = true

  init(url: String) { self.url = url }

  public var place: String { URLText.origin(url) }
  public var host: String? { URLText.host(url) }

  /// The URL leaves this machine unencrypted.
  var isInTheClear: Bool { url.hasPrefix("http://") && !URLText.isLocal(url) }
}
