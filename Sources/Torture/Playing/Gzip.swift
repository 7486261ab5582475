import CZlib

/// Compresses a sender's body.
enum Gzip {
  /// The bytes as one gzip member; nil when zlib has no memory.
  static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
    var stream = z_stream()
    guard zlib_deflate_init(&stream, 1, 15 + 16) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    var out = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let status = bytes.withUnsafeBufferPointer { source in
      out.withUnsafeMutableBufferPointer { target -> Int32 in
        stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
        stream.avail_in = UInt32(source.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        return deflate(&stream, Z_FINISH)
      }
    }
    guard status == Z_STREAM_END else { return nil }
    out.removeLast(Int(stream.avail_out))
    return out
  }
}
