import Glibc
import JSON
import Observability

/// Where a running relay listens, in `data_dir/addresses.json`: with port 0 in the configuration, only it knows.
public struct AddressBook: Sendable, Equatable {
  public var ingest: [String]
  public var admin: String
  public var standIn: String?
  /// The public key of the certificate that the admin listener shows, `sha256//` and Base64; nil when it speaks plain HTTP.
  public var adminKey: String?

  public init(ingest: [String], admin: String, standIn: String?, adminKey: String? = nil) {
    self.ingest = ingest
    self.admin = admin
    self.standIn = standIn
    self.adminKey = adminKey
  }

  static let fileName = "addresses.json"

  /// Read from a data directory; nil when there is none or it can't be read.
  public init?(directory: String) {
    let descriptor = open("\(directory)/\(Self.fileName)", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 65536)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0, let value = try? JSONValue(parsing: Array(bytes[..<count])), let admin = value["admin"]?.string
    else { return nil }
    self.init(
      ingest: value["ingest"]?.array?.compactMap(\.string) ?? [], admin: admin, standIn: value["stand_in"]?.string,
      adminKey: value["admin_key"]?.string)
  }

  /// A help to those who look for the relay, no more: when it can't be written, that is logged and all goes on.
  func write(to directory: String, logger: Logger) {
    let path = "\(directory)/\(Self.fileName)"
    let value = JSONValue.object([
      .init("ingest", .array(ingest.map(JSONValue.string))), .init("admin", .string(admin)),
      .init("stand_in", JSONValue(standIn)), .init("admin_key", JSONValue(adminKey)),
    ])
    let bytes = value.utf8 + [UInt8(ascii: "\n")]
    let descriptor = open("\(path).tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let isWritten = descriptor >= 0 && Glibc.write(descriptor, bytes, bytes.count) == bytes.count
    if descriptor >= 0 { close(descriptor) }
    guard isWritten, rename("\(path).tmp", path) == 0 else {
      logger.warning(
        "cannot write the file of addresses", ["path": .text(path), "why": .text(String(cString: strerror(errno)))])
      return
    }
  }
}
