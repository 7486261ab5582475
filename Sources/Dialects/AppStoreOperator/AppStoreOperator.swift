/// The App Store Operator Events API: the protocol that apps speak unless they say something else.
public struct AppStoreOperator: Dialect {
  public let number: UInt8 = 0
  public let name = "app-store-operator"
  public let title = "the App Store Operator Events API"
  public let incoming: any IncomingDialect = IncomingAppStoreOperator()
  public let outgoing: any OutgoingDialect = OutgoingAppStoreOperator()

  public init() {}
}
