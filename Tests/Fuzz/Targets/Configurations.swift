import Dialects
import Relay
import Sinks

@testable import Configuration

/// A configuration file's text: read, or refused with faults that each say where and what, in bounded time and memory.
@Sendable func checkConfiguration(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let lines = lineCount(bytes)
  let environment = ["ASO_WRITE_KEY": "aso_wk_1", "EMPTY": "", "LINE": "a\nb: c"]
  for isForAsking in [false, true] {
    let read = ConfigurationLoader.parse(
      Array(bytes), file: "/nowhere/relay.yaml", environment: environment, sinkTypes: SinkRegistry.types,
      protocols: ProtocolFormat.all, isForAsking: isForAsking)
    switch read.result {
    case .failure(let faults):
      try promise(!faults.all.isEmpty, "a configuration is refused without a fault")
      for fault in faults.all { try check(fault, lines) }
    case .success(let configuration):
      for warning in configuration.warnings { try check(warning, lines) }
      let again = ConfigurationLoader.parse(
        Array(bytes), file: "/nowhere/relay.yaml", environment: environment, sinkTypes: SinkRegistry.types,
        protocols: ProtocolFormat.all, isForAsking: isForAsking)
      guard case .success = again.result else {
        throw BrokenPromise(description: "a configuration that was read is refused when it is read again")
      }
      try promise(
        configuration.dataDirectory.hasPrefix("/"), "the data directory is relative: \(configuration.dataDirectory)")
    }
  }
}

private func check(_ fault: ConfigurationFault, _ lines: Int) throws(BrokenPromise) {
  try promise(!fault.message.isEmpty, "a fault says nothing")
  try promise((1...lines).contains(fault.line), "a fault is in line \(fault.line) of \(lines): \(fault)")
  try promise(!fault.message.contains("aso_wk_1"), "a fault tells a secret")
  try promise(fault.description.utf8.count < 4096, "a fault has \(fault.description.utf8.count) bytes")
}

/// Lines as YAML counts them: a carriage return alone, and Unicode's line ends, end one too.
private func lineCount(_ bytes: UnsafeRawBufferPointer) -> Int {
  String(decoding: bytes, as: UTF8.self).unicodeScalars.count {
    ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains($0)
  } + 1
}
