import Foundation
import TestSupport

/// What the kernel knows of a process.
struct ProcessFacts {
  let id: pid_t

  /// Resident memory in bytes.
  var residentBytes: Int {
    let line = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8))?
      .split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
  }

  /// The most that was ever resident, in bytes.
  var residentPeakBytes: Int {
    let line = (try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8))?
      .split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
  }

  /// Takes the resident memory of now for the most that there ever was.
  func forgetPeak() { _ = try? "5".write(toFile: "/proc/\(id)/clear_refs", atomically: false, encoding: .utf8) }

  /// CPU time it has used, in seconds.
  var cpuSeconds: Double {
    guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
      let end = text.lastIndex(of: ")")
    else { return 0 }
    let fields = text[end...].split(separator: " ")
    return (fields.dropFirst(12).prefix(2).compactMap { Double($0) }.reduce(0, +)) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  var openFiles: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").count) ?? 0 }

  /// Sets how many files it may have open; what is open stays.
  func setOpenFilesLimit(_ count: Int) async throws {
    let child = try ChildProcess(["--pid", "\(id)", "--nofile=\(count):4096"], program: "/usr/bin/prlimit")
    guard await child.wait() == 0 else { throw TestFailure("prlimit: \(child.errorText)") }
  }
}
