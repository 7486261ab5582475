/// Datalyr's event protocol: its SDKs' single events, and the batches of its web SDK.
public struct Datalyr: Dialect {
  public let number: UInt8 = 1
  public let name = "datalyr"
  public let title = "Datalyr"
  public let incoming: any IncomingDialect = IncomingDatalyr()
  public let outgoing: any OutgoingDialect = OutgoingDatalyr()

  public init() {}
}
