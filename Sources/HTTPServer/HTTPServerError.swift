/// Why a server can't listen: the address, the reason and what to do about it.
public struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// A closed set of reasons.
  public enum Reason: String, Sendable, CaseIterable {
    case inUse, noPermission, notAvailable, unresolvable, pathTooLong, notASocket, noDirectory, other
  }

  public var address: ListenAddress
  public var reason: Reason
  public var description: String

  init(_ address: ListenAddress, _ reason: Reason, _ text: String) {
    self.address = address
    self.reason = reason
    description = "can't listen on \(address): \(text)"
  }
}
