import Clocks
import JSON

extension ManifestEntry {
  /// Reads a line without its line feed, and takes its hash off.
  ///
  /// - Returns: the entry, and its hash, which is the right one.
  /// - Throws: what is wrong, as the end of a sentence.
  static func read(_ line: UnsafeRawBufferPointer) throws(Misfit) -> (entry: ManifestEntry, hash: Digest) {
    guard line.count > hashBytes else { throw Misfit("is too short for an entry") }
    let body = UnsafeRawBufferPointer(rebasing: line[..<(line.count - hashBytes)])
    let end = line[(line.count - hashBytes)...]
    let digits = String(decoding: end.dropFirst(hashName.count).prefix(2 * Digest.byteCount), as: UTF8.self)
    guard end.starts(with: hashName), end.suffix(2).elementsEqual("\"}".utf8), let written = Digest(digits) else {
      throw Misfit("doesn't end in a hash")
    }
    let hash = SHA256Stream.digest(body)
    guard hash == written else {
      throw Misfit("was changed: its hash is \(hash), and it says \(written)")
    }
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: line)
    } catch {
      throw Misfit("is no JSON object: \(error)")
    }
    return (try ManifestEntry(json), hash)
  }

  /// Whether a line ends in the hash of what stands before it: one that does was written as it is, whatever it says.
  static func isWhole(_ line: UnsafeRawBufferPointer) -> Bool {
    guard line.count > hashBytes else { return false }
    let end = line[(line.count - hashBytes)...]
    let digits = String(decoding: end.dropFirst(hashName.count).prefix(2 * Digest.byteCount), as: UTF8.self)
    let body = UnsafeRawBufferPointer(rebasing: line[..<(line.count - hashBytes)])
    return end.starts(with: hashName) && Digest(digits) == SHA256Stream.digest(body)
  }

  private init(_ json: JSONValue) throws(Misfit) {
    let type = try json.text("type")
    content =
      switch type {
      case "begin": .begin(try ManifestBegin(json))
      case "file": .file(try ManifestFile(json))
      case "removed": .removed(try ManifestRemoval(json))
      case "erased": .erased(try ManifestErasure(json))
      default:
        throw Misfit("is of a type “\(type.prefix(40))” that this program doesn't know: a newer event-relay wrote it")
      }
    number = try json.count("n")
    at = try json.moment("at")
    previous = try json.digest("previous")
  }
}

extension ManifestBegin {
  fileprivate init(_ json: JSONValue) throws(Misfit) {
    let version = try json.count("version")
    guard version == Self.version else {
      throw Misfit("has version \(version), and this program reads version \(Self.version)")
    }
    archive = try json.archive("archive")
    relay = try json.text("relay")
    sink = try json.text("sink")
    continues = nil
    guard json["continues"] != nil else { return }
    continues = ArchiveHead(archive: try json.archive("continues_archive"), hash: try json.digest("continues"))
  }
}

extension ManifestFile {
  fileprivate init(_ json: JSONValue) throws(Misfit) {
    file = try json.count("file")
    name = try json.fileName("name")
    count = try json.count("count")
    contents = try FileContents(json)
    merkleRoot = try json.digest("merkle_root")
    receivedFrom = try json.moment("received_from")
    receivedUntil = try json.moment("received_until")
    let first = json["first_seq"]?.integer(as: UInt64.self)
    let last = json["last_seq"]?.integer(as: UInt64.self)
    guard first == name.first, last == name.last, firstSequence <= lastSequence, count > 0 else {
      throw Misfit("names a file whose numbers don't fit its name")
    }
  }
}

extension FileContents {
  fileprivate init(_ json: JSONValue) throws(Misfit) {
    bytes = try json.count("bytes")
    sha256 = try json.digest("sha256")
    saltsBytes = try json.count("salts_bytes")
    saltsSHA256 = try json.digest("salts_sha256")
  }
}

extension ManifestRemoval {
  fileprivate init(_ json: JSONValue) throws(Misfit) {
    file = try json.count("file")
    name = try json.fileName("name")
    reason = try json.text("reason")
  }
}

extension ManifestErasure {
  fileprivate init(_ json: JSONValue) throws(Misfit) {
    file = try json.count("file")
    name = try json.fileName("name")
    count = try json.count("count")
    contents = try FileContents(json)
    merkleRoot = try json.digest("merkle_root")
    lines = []
    for range in json["lines"]?.array ?? [] {
      let ends = (range.array ?? []).compactMap { $0.integer(as: Int.self) }
      guard ends.count == 2, ends[0] >= 1, ends[0] <= ends[1], lines.last.map({ $0.upperBound < ends[0] }) ?? true
      else { throw Misfit("erases lines that are none: “lines” must be [[first,last],…], ascending") }
      lines.append(ends[0]...ends[1])
    }
    guard !lines.isEmpty else { throw Misfit("erases no lines") }
  }
}

extension JSONValue {
  fileprivate func text(_ key: String) throws(Misfit) -> String {
    guard let text = self[key]?.string else { throw Misfit("has no text “\(key)”") }
    return text
  }

  fileprivate func count(_ key: String) throws(Misfit) -> Int {
    guard let count = self[key]?.integer(as: Int.self), count >= 0 else { throw Misfit("has no number “\(key)”") }
    return count
  }

  fileprivate func digest(_ key: String) throws(Misfit) -> Digest {
    guard let digest = Digest(try text(key)) else { throw Misfit("has no hash “\(key)” of 64 hexadecimal digits") }
    return digest
  }

  fileprivate func archive(_ key: String) throws(Misfit) -> ArchiveID {
    guard let id = ArchiveID(try text(key)) else { throw Misfit("has no id “\(key)” of 32 hexadecimal digits") }
    return id
  }

  fileprivate func fileName(_ key: String) throws(Misfit) -> ArchiveFileName {
    guard let name = ArchiveFileName(published: try text(key)) else { throw Misfit("names no file of an archive") }
    return name
  }

  /// Reads `2026-11-30T11:24:47.123Z`.
  fileprivate func moment(_ key: String) throws(Misfit) -> Timestamp {
    let text = try text(key)
    let digits = text.filter { $0 != "-" && $0 != ":" }
    guard let moment = ArchiveFileName.time(digits[...]), moment.description == text else {
      throw Misfit("has no time “\(key)” such as 2026-11-30T11:24:47.123Z")
    }
    return moment
  }
}
