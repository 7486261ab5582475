import CSimdjson

/// The hash by which events carry a person's id: of ``AcceptedEvent/installHash`` and ``AcceptedEvent/userHash``.
public enum PersonHash {
  /// - Parameter id: its UTF-8 bytes, as they are when JSON's escapes are resolved.
  public static func of(_ id: UnsafeRawBufferPointer) -> UInt64 { event_hash(id.baseAddress, id.count) }

  public static func of(_ id: String) -> UInt64 {
    var id = id
    return id.withUTF8 { of(UnsafeRawBufferPointer($0)) }
  }
}
