import CMicrohttpd
import Glibc

extension HTTPResponse {
  /// Hands the answer to the library, to be sent when the handler returns.
  func queue(on connection: OpaquePointer, closing: Bool) -> MHD_Result {
    let response = body.withUnsafeBytes {
      MHD_create_response_from_buffer(
        $0.count, UnsafeMutableRawPointer(mutating: $0.baseAddress), .RESPMEM_MUST_COPY)
    }
    guard let response else { return MHD_Result.NO }
    defer { MHD_destroy_response(response) }
    for header in headers { MHD_add_response_header(response, header.name, header.value) }
    if closing { MHD_add_response_header(response, "Connection", "close") }
    return MHD_queue_response(connection, UInt32(clamping: status), response)
  }

  /// The whole answer as it goes over the wire, the connection ending with it.
  func serialized(withBody: Bool, now: time_t = time(nil)) -> [UInt8] {
    var head = "HTTP/1.1 \(status) \(String(cString: MHD_get_reason_phrase_for(UInt32(clamping: status))))\r\n"
    head += "Date: \(Self.date(now))\r\nConnection: close\r\n"
    for header in headers where Self.isSafe(header.name) && Self.isSafe(header.value) {
      head += "\(header.name): \(header.value)\r\n"
    }
    head += "Content-Length: \(body.count)\r\n\r\n"
    return Array(head.utf8) + (withBody ? body : [])
  }

  private static func isSafe(_ text: String) -> Bool { !text.utf8.contains { $0 == 0x0D || $0 == 0x0A } }

  /// As HTTP has it: `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func date(_ moment: time_t) -> String {
    var moment = moment
    var parts = tm()
    gmtime_r(&moment, &parts)
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
      + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }
}
