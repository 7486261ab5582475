import Clocks
import EventsAPI
import HTTPServer

/// Texts that name a time or a delay: `occurred_at`, `Retry-After`, HTTP's dates.
@Sendable func checkTimes(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let text = String(decoding: bytes, as: UTF8.self)
  let moment = OccurredAt.parse(bytes)
  if Array(text.utf8).elementsEqual(bytes) {
    try promise(moment == SlowTime.moment(text), "a time is read as \(moment.map { "\($0)" } ?? "none")")
  }
  if let moment {
    let written = moment.utf8
    // (A zone may carry the first and the last hours over the ends of the years that are written with four digits.)
    if (0...9999).contains(moment.calendarDate.year) {
      try promise(
        written.withUnsafeBytes { OccurredAt.parse($0) } == moment, "a time that is written is read otherwise")
    }
  }
  for now in [receivedAt, Timestamp(milliseconds: 0), Timestamp(milliseconds: 253_402_300_799_999)] {
    let headers = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    guard let asked = RetryAfter.parse(headerValues: headers, now: now) else { continue }
    try promise(asked.delay >= .zero && asked.delay <= RetryAfter.delayMax, "a delay of \(asked.delay)")
    let longest = headers.compactMap { RetryAfter.parse(headerValues: [$0], now: now)?.delay }.max()
    try promise(longest == asked.delay, "not the longest of several delays")
  }
}

/// Texts as a part of a URL's path.
@Sendable func checkPercent(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let text = String(decoding: bytes, as: UTF8.self)
  try promise(PercentText.decoded(PercentText.encoded(text)) == text, "a text that is encoded is decoded otherwise")
  guard let decoded = PercentText.decoded(text) else { return }
  try promise(PercentText.decoded(PercentText.encoded(decoded)) == decoded, "a decoded text is encoded otherwise")
  try promise(decoded.utf8.count <= text.utf8.count, "a text grows by being decoded")
}
