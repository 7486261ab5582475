import Glibc
import Synchronization

/// Where commands print: results to standard output, progress and complaints to standard error.
final class Output: Sendable {
  enum Stream: Sendable { case output, error }

  private struct State {
    var buffer: [UInt8] = []
    var failure: String?
  }

  /// Bytes of results that wait for more before they are written.
  private static let bufferMax = 64 * 1024

  /// Standard error, when it is a terminal.
  let terminal: Terminal?
  private let state = Mutex(State())
  /// Returns why the bytes couldn't be written, or nil.
  private let write: @Sendable (Stream, [UInt8]) -> String?

  init(terminal: Terminal? = nil, write: @escaping @Sendable (Stream, [UInt8]) -> String?) {
    self.terminal = terminal
    self.write = write
  }

  static func standard() -> Output {
    Output(terminal: Terminal(descriptor: STDERR_FILENO)) { stream, bytes in
      writeAll(bytes, to: stream == .output ? STDOUT_FILENO : STDERR_FILENO)
    }
  }

  /// Why results couldn't be written; nil when all could.
  var failure: String? { state.withLock { $0.failure } }

  /// Prints a result.
  func print(_ text: String, terminator: String = "\n") { print(bytes: Array((text + terminator).utf8)) }

  /// Prints results as they are.
  func print(bytes: some Sequence<UInt8>) {
    state.withLock { state in
      state.buffer += bytes
      if state.buffer.count >= Self.bufferMax { flush(&state) }
    }
  }

  /// Prints a line as it is.
  func print(bytes: UnsafeRawBufferPointer, terminator: UInt8) {
    state.withLock { state in
      state.buffer.append(contentsOf: bytes)
      state.buffer.append(terminator)
      if state.buffer.count >= Self.bufferMax { flush(&state) }
    }
  }

  /// Says something to standard error; results printed before stand before it.
  func error(_ text: String, terminator: String = "\n") {
    state.withLock { state in
      flush(&state)
      _ = write(.error, Array((text + terminator).utf8))
    }
  }

  func flush() { state.withLock { flush(&$0) } }

  private func flush(_ state: inout State) {
    guard !state.buffer.isEmpty else { return }
    if state.failure == nil { state.failure = write(.output, state.buffer) }
    state.buffer.removeAll(keepingCapacity: true)
  }

  private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> String? {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return String(cString: strerror(errno)) }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      return nil
    }
  }
}
