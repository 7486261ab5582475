import Glibc

@testable import Archive

/// The lines of an archive's manifest, one after the other, as the chain takes them. The first byte says whether each line's hash,
/// and what it says of the line before, is put right first.
@Sendable func checkManifest(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let isMended = input.byte() & 1 == 1
  var chain = ManifestChain()
  for line in input.rest.split(separator: 0x0A, omittingEmptySubsequences: false) {
    var line = Array(line)
    if isMended { line = ManifestMender.mended(line, after: chain.head) }
    let result = line.withUnsafeBytes { bytes in
      Result { () throws(ManifestFault) in try chain.take(bytes) }
    }
    switch result {
    case .failure(let fault):
      try promise(fault.line == chain.entries + 1 && !fault.detail.isEmpty, "a fault doesn't say where or what")
      return
    case .success(let entry): try checkWritten(entry)
    }
    try promise(chain.removedFiles <= chain.files, "more files were removed than there were")
  }
}

/// An entry that is written is read as the same.
private func checkWritten(_ entry: ManifestEntry) throws(BrokenPromise) {
  let (bytes, hash) = entry.line
  let again = bytes.withUnsafeBytes { bytes in
    try? ManifestEntry.read(UnsafeRawBufferPointer(rebasing: bytes.dropLast()))
  }
  try promise(again?.entry == entry && again?.hash == hash, "an entry that is written is read otherwise")
}

/// Puts the hashes of a manifest's lines right: a fuzzer guesses members, and no hashes.
enum ManifestMender {
  static func mended(_ line: [UInt8], after head: Digest) -> [UInt8] {
    var line = line
    let name = Array(#""previous":""#.utf8)
    if let at = line.firstRange(of: name)?.upperBound, at + 64 <= line.count {
      line.replaceSubrange(at..<at + 64, with: head.description.utf8)
    }
    guard line.count > ManifestEntry.hashBytes else { return line }
    let body = line.count - ManifestEntry.hashBytes
    guard line[body...].starts(with: ManifestEntry.hashName) else { return line }
    let hash = line[..<body].withUnsafeBytes { SHA256Stream.digest($0) }
    let at = body + ManifestEntry.hashName.count
    line.replaceSubrange(at..<at + 64, with: hash.description.utf8)
    return line
  }
}
