/// A protocol by which events come in from senders and go out to an upstream.
///
/// Everything that is particular to a protocol is behind this: one folder here, and one line in ``DialectRegistry``. The page
/// "Adding a protocol" tells how.
public protocol Dialect: Sendable {
  /// Stands in the log with each request: once given it never changes, and is never given again.
  var number: UInt8 { get }
  /// How configurations, records and commands call it: `datalyr`.
  var name: String { get }
  /// How its vendor calls it, in messages.
  var title: String { get }
  var incoming: any IncomingDialect { get }
  var outgoing: any OutgoingDialect { get }
}
