/// An app as the configuration has it.
public struct AppDefinition: Sendable {
  public var name: String
  /// The key that the app's events go upstream with. Nil: the first of ``acceptKeys`` does.
  public var writeKey: String?
  /// What senders may present besides ``writeKey``, the best one first.
  public var acceptKeys: [String]
  /// Requests without a key belong to this app, if they come by its protocol.
  public var isDefault: Bool
  /// The number of the protocol that its senders speak.
  public var dialect: UInt8
  public var rules: AppRules?

  public init(
    name: String, writeKey: String? = nil, acceptKeys: [String] = [], isDefault: Bool = false, dialect: UInt8 = 0,
    rules: AppRules? = nil
  ) {
    self.dialect = dialect
    self.rules = rules
    self.name = name
    self.writeKey = writeKey
    self.acceptKeys = acceptKeys
    self.isDefault = isDefault
  }

  /// Every key that belongs to the app.
  var keys: [String] { (writeKey.map { [$0] } ?? []) + acceptKeys }

  /// The key that its events go upstream with. An app without a key of its own passes its senders' on; since waiting events carry the app and not
  /// the key, that is one key for all of them, and the file says which: nothing needs to be remembered, and a restart changes nothing.
  var upstreamKey: String? { writeKey ?? acceptKeys.first }
}
