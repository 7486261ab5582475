import Glibc

/// A file, or standard input, read from begin to end in bounded memory.
///
/// Unchecked because one thread at a time uses it: each of a command's steps hands it to the next.
final class InputFile: @unchecked Sendable {
  /// For messages.
  let name: String
  /// Bytes; nil for a pipe.
  let size: Int?
  private(set) var bytesRead = 0
  private let descriptor: Int32
  private let closesDescriptor: Bool
  /// What was read ahead.
  private var ahead: [UInt8] = []

  /// Opens `FILE` or `-`.
  init(_ operand: String, standardInput: Int32) throws(CommandFailure) {
    if operand == "-" {
      (name, descriptor, closesDescriptor) = ("standard input", standardInput, false)
    } else {
      (name, descriptor, closesDescriptor) = (PrintableText.of(operand), open(operand, O_RDONLY | O_CLOEXEC), true)
      guard descriptor >= 0 else {
        throw CommandFailure("\(quoted(operand)) can't be opened: \(Self.reason(errno))", code: .usage)
      }
    }
    var facts = stat()
    guard fstat(descriptor, &facts) == 0 else {
      throw CommandFailure("\(name) can't be read: \(Self.reason(errno))", code: .usage)
    }
    let kind = facts.st_mode & S_IFMT
    guard kind != S_IFDIR else { throw CommandFailure("\(name) is a directory; name a file in it", code: .usage) }
    size = kind == S_IFREG ? Int(facts.st_size) : nil
  }

  deinit { if closesDescriptor { close(descriptor) } }

  /// How much is read, 0 to 1; nil when nobody knows how much there is.
  var share: Double? { size.flatMap { $0 > 0 ? Double(bytesRead - ahead.count) / Double($0) : nil } }

  /// The first bytes, at most so many, which will be read again; and whether they are all.
  func head(_ count: Int) throws(CommandFailure) -> (bytes: [UInt8], isAll: Bool) {
    var isAll = false
    while ahead.count <= count, !isAll {
      let more = try readFile(count + 1 - ahead.count)
      ahead += more
      isAll = more.isEmpty
    }
    return (Array(ahead.prefix(count)), isAll)
  }

  /// The next bytes, at most so many; none at the end.
  func read(_ count: Int) throws(CommandFailure) -> [UInt8] {
    guard ahead.isEmpty else {
      let out = Array(ahead.prefix(count))
      ahead.removeFirst(out.count)
      return out
    }
    return try readFile(count)
  }

  private func readFile(_ count: Int) throws(CommandFailure) -> [UInt8] {
    var code: Int32 = 0
    let out = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while true {
        let got = Glibc.read(descriptor, buffer.baseAddress, count)
        if got < 0, errno == EINTR { continue }
        if got < 0 { code = errno }
        filled = max(got, 0)
        return
      }
    }
    guard code == 0 else { throw CommandFailure("\(name) can't be read: \(Self.reason(code))") }
    bytesRead += out.count
    return out
  }

  private static func reason(_ code: Int32) -> String {
    switch code {
    case ENOENT: "there is no such file"
    case EACCES: "this user may not read it"
    default: String(cString: strerror(code))
    }
  }
}
