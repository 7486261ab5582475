import JSON
import Observability
import Records

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
    guard let bytes = try? FileSystem.system.readWhole("\(directory)/\(Self.fileName)", limit: 65_536),
      let value = try? JSONValue(parsing: bytes), let admin = value["admin"]?.string
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
    do throws(FileError) {
      try FileSystem.system.replace(path, with: value.utf8 + [UInt8(ascii: "\n")])
    } catch {
      logger.warning("cannot write the file of addresses", ["why": .text(error.description)])
    }
  }
}
