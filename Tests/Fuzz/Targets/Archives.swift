import Clocks
import Glibc
import Records

@testable import Archive

/// An archive with lines of this content, and a byte of one of its files changed.
///
/// As it was written it is whole and has the lines; whatever is changed in it is found; and a manifest of any content is judged.
/// The first four bytes choose the file, where and what is changed.
@Sendable func checkArchive(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let file = Int(input.byte())
  let place = Int(input.byte()) | Int(input.byte()) << 8
  let change = input.byte()
  let folder = try promised(ScratchFolder(), "there is no folder for an archive")
  let lines = input.rest.split(separator: 0x0A).prefix(64).map { Array($0) }
  guard !lines.isEmpty else { return }
  try promise(written(lines, to: folder.path), "an archive can't be written")
  let before = try promised(verified(folder.path), "an archive that was written can't be verified")
  try promise(before.isWhole, "an archive that was written isn't whole: \(before.faults)")
  try promise(read(folder.path) == lines, "an archive has other lines than were written")
  let names = folder.names
  let name = names[file % names.count]
  var content = folder.read(name)
  if change == 0xFF {
    // A manifest of any content, among files that are right.
    content = Array(input.rest)
    folder.write(ArchiveFileName.manifest, content)
    guard let report = verified(folder.path) else { return }
    return try promise(!report.isWhole || content.isEmpty, "a manifest of somebody else's makes a whole archive")
  }
  guard change != 0, !content.isEmpty else { return }
  content[place % content.count] ^= change
  folder.write(name, content)
  let after = verified(folder.path)
  try promise(after?.isWhole != true, "a changed byte isn't found: \(name) at \(place % content.count)")
  _ = read(folder.path)
}

private let time = Timestamp(milliseconds: 1_796_037_887_123)

/// Puts lines into an archive of one file, each behind the head that an archive's lines have.
private func written(_ lines: [[UInt8]], to path: String) -> Bool {
  let counting: RandomBytes.Source = { bytes in
    for at in bytes.indices { bytes[at] = UInt8(truncatingIfNeeded: at) }
  }
  var content: [UInt8] = []
  var notes: [ArchiveLine] = []
  for (at, line) in lines.enumerated() {
    let whole = head(UInt64(at + 1)) + line
    notes.append(ArchiveLine(length: whole.count + 1, sequence: UInt64(at + 1), receivedAt: time))
    content += whole + [0x0A]
  }
  return content.withUnsafeBytes { bytes in
    let result = Result { () throws(ArchiveError) in
      let writer = try ArchiveWriter(
        ArchiveWriter.Place(path: path, relay: "r-1", sink: "audit"), memory: nil, now: time, on: .system,
        random: counting)
      try writer.begin(at: time, first: 1)
      try writer.append(bytes, notes[...])
      try writer.sync()
      _ = try writer.publish(at: time + .seconds(60))
    }
    if case .success = result { return true }
    return false
  }
}

private func head(_ sequence: UInt64) -> [UInt8] {
  Array(
    #"{"received_at":"\#(time)","relay":"r-1","app":"ios","kind":"event","seq":\#(sequence),"event":"#.utf8)
}

private func verified(_ path: String) -> ArchiveReport? { try? ArchiveVerification.verify(path) }

/// The lines without their heads; nil when they can't all be read.
private func read(_ path: String) -> [[UInt8]]? {
  guard let reader = try? ArchiveReader(directory: path) else { return nil }
  var out: [[UInt8]] = []
  let all: Void? = try? reader.forEachLine { _, line in
    out.append(Array(line.dropFirst(head(UInt64(out.count + 1)).count)))
    return true
  }
  return all == nil ? nil : out
}

/// A folder for one check, in memory where the system has such a place; removed with the value.
final class ScratchFolder {
  let path: String

  init?() {
    let place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
    var template = Array("\(place)/event-relay-fuzz.XXXXXX".utf8CString)
    guard let made = template.withUnsafeMutableBufferPointer({ mkdtemp($0.baseAddress!) }) else { return nil }
    path = String(cString: made)
  }

  deinit {
    for name in names { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  /// The files in it, sorted.
  var names: [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var out: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { out.append(name) }
    }
    return out.sorted()
  }

  func read(_ name: String) -> [UInt8] {
    let descriptor = open("\(path)/\(name)", O_RDONLY)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    return Array(bytes[..<max(0, Glibc.read(descriptor, &bytes, bytes.count))])
  }

  func write(_ name: String, _ bytes: [UInt8]) {
    let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0 else { return }
    _ = Glibc.write(descriptor, bytes, bytes.count)
    close(descriptor)
  }
}
