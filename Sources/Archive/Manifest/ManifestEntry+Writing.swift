import JSON

extension ManifestEntry {
  /// Stands between what a line's hash covers and the hash.
  static let hashName = Array(#","hash":""#.utf8)
  /// Bytes from there to the line's end, without its line feed.
  static let hashBytes = hashName.count + 2 * Digest.byteCount + 2

  /// The line with its line feed, and its hash: SHA-256 of its bytes before `,"hash":`.
  public var line: (bytes: [UInt8], hash: Digest) {
    var out = json.utf8
    out.removeLast()
    let hash = out.withUnsafeBytes { SHA256Stream.digest($0) }
    out += Self.hashName
    out += hash.description.utf8
    out += "\"}\n".utf8
    return (out, hash)
  }

  private var json: JSONValue {
    var members: [JSONValue.Member] = []
    if case .begin = content { members.append(.init("version", JSONValue(ManifestBegin.version))) }
    members += [
      .init("type", .string(content.type)), .init("n", JSONValue(number)), .init("at", .string(at.description)),
      .init("previous", .string(previous.description)),
    ]
    switch content {
    case .begin(let begin): members += begin.members
    case .file(let file): members += file.members
    case .removed(let removal): members += removal.members
    case .erased(let erasure): members += erasure.members
    }
    return .object(members)
  }
}

extension ManifestEntry.Content {
  var type: String {
    switch self {
    case .begin: "begin"
    case .file: "file"
    case .removed: "removed"
    case .erased: "erased"
    }
  }
}

extension ManifestBegin {
  fileprivate var members: [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      .init("archive", .string(archive.description)), .init("relay", .string(relay)), .init("sink", .string(sink)),
    ]
    if let continues {
      members += [
        .init("continues_archive", .string(continues.archive.description)),
        .init("continues", .string(continues.hash.description)),
      ]
    }
    return members
  }
}

extension ManifestFile {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("file", JSONValue(file)), .init("name", .string(name.lines)),
      .init("first_seq", JSONValue(firstSequence)), .init("last_seq", JSONValue(lastSequence)),
      .init("count", JSONValue(count)),
    ] + contents.members + [
      .init("merkle_root", .string(merkleRoot.description)),
      .init("received_from", .string(receivedFrom.description)),
      .init("received_until", .string(receivedUntil.description)),
    ]
  }
}

extension FileContents {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("bytes", JSONValue(bytes)), .init("sha256", .string(sha256.description)),
      .init("salts_bytes", JSONValue(saltsBytes)), .init("salts_sha256", .string(saltsSHA256.description)),
    ]
  }
}

extension ManifestRemoval {
  fileprivate var members: [JSONValue.Member] {
    [.init("file", JSONValue(file)), .init("name", .string(name.lines)), .init("reason", .string(reason))]
  }
}

extension ManifestErasure {
  fileprivate var members: [JSONValue.Member] {
    [
      .init("file", JSONValue(file)), .init("name", .string(name.lines)),
      .init(
        "lines", .array(lines.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) })),
      .init("count", JSONValue(count)),
    ] + contents.members + [.init("merkle_root", .string(merkleRoot.description))]
  }
}
