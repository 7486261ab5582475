import Configuration
import EventLog

/// `type: webhook`: events posted to a URL in JSON batches, signed as the Standard Webhooks specification has it.
public struct WebhookSinkType: SinkType {
  public let name = "webhook"

  public init() {}

  public func options(from section: Section) -> WebhookOptions { WebhookOptions(from: section) }

  public func make(_ options: WebhookOptions, _ context: SinkContext) -> any Destination {
    ThreadedSink(
      name: context.name, type: name, subscription: context.subscription, logger: context.logger
    ) { wake in WebhookWorker(options, context, client: WebhookClient(context), wake: wake) }
  }
}
