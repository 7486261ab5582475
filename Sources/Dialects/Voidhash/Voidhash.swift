/// Voidhash's event protocol: batches, and single events with their key beside them.
public struct Voidhash: Dialect {
  public let number: UInt8 = 2
  public let name = "voidhash"
  public let title = "Voidhash"
  public let incoming: any IncomingDialect = IncomingVoidhash()
  public let outgoing: any OutgoingDialect = OutgoingVoidhash()

  public init() {}
}
