import CSimdjson
import JSON

/// Small JSON documents: what is read is the same once it is written and read again, and simdjson's own parser agrees.
@Sendable func checkDocument(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let value = try? JSONValue(parsing: bytes)
  let isKnown = json_document_is_known_to_simdjson(
    bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count)
  if let value {
    let written = value.utf8
    let again = try? JSONValue(parsing: written)
    try promise(again == value, "a document that is written is read otherwise")
    try promise(again?.utf8 == written, "a document that is read is written otherwise")
    try promise(isKnown || isExcused(bytes), "simdjson doesn't take what we take")
  } else {
    // (It takes a value that is no object and no array, more levels, and skips a byte order mark.)
    let first = bytes.first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    let isContainer = first == 0x5B || first == 0x7B
    let isDeep = bytes.count { $0 == 0x5B || $0 == 0x7B } > 64
    try promise(!isKnown || !isContainer || isDeep, "simdjson takes what we don't")
  }
}

/// What simdjson refuses and we take: lone surrogates, and numbers that its types can't hold.
private func isExcused(_ bytes: UnsafeRawBufferPointer) -> Bool {
  if hasLoneSurrogates(bytes) { return true }
  var digits = 0
  for byte in bytes {
    digits = byte &- 0x30 < 10 ? digits + 1 : 0
    if digits > 2, bytes.contains(0x65) || bytes.contains(0x45) { return true }
    if digits > 16 { return true }
  }
  return false
}
