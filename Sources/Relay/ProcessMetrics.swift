import Glibc
import Observability

/// The usual `process_*` metrics, read from the kernel at each scrape.
enum ProcessMetrics {
  static func register(in metrics: MetricsRegistry) {
    metrics.counter("process_cpu_seconds_total", "User and system CPU time.") {
      var usage = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
      return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
    metrics.gauge("process_resident_memory_bytes", "Resident memory.") {
      Double(fields(of: "/proc/self/statm")?.dropFirst().first.flatMap { Int($0) } ?? 0)
        * Double(sysconf(Int32(_SC_PAGESIZE)))
    }
    metrics.gauge("process_open_fds", "Open file descriptors.") { Double(openDescriptors()) }
    metrics.gauge("process_max_fds", "The most descriptors that may be open.") {
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      return Double(limit.rlim_cur)
    }
    let started = startTime()
    metrics.gauge("process_start_time_seconds", "When the process was started, in seconds since 1970.") { started }
  }

  /// Seconds since 1970: the boot's time and the ticks from there to the start.
  private static func startTime() -> Double {
    guard let text = read("/proc/self/stat"), let end = text.lastIndex(of: ")") else { return 0 }
    let ticks = text[end...].split(separator: " ").dropFirst(20).first.flatMap { Double($0) } ?? 0
    var boot = timespec()
    clock_gettime(CLOCK_BOOTTIME, &boot)
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    let bootedAt = Double(now.tv_sec) + Double(now.tv_nsec) / 1e9 - Double(boot.tv_sec) - Double(boot.tv_nsec) / 1e9
    return bootedAt + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func openDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = -3  // `.`, `..`, and the directory's own
    while readdir(directory) != nil { count += 1 }
    return max(count, 0)
  }

  private static func fields(of path: String) -> [Substring]? { read(path)?.split(separator: " ") }

  private static func read(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
  }
}
