/// What parts are written with: one after the other uses it. Not thread-safe.
final class PartTools {
  let gzip = GzipMembers()
  let hasher = MerkleHasher()
  var random: RandomBytes

  init(_ source: @escaping RandomBytes.Source) { random = RandomBytes(source) }
}
