import Clocks
import Dialects
import EventsAPI

/// What an upstream answers, whatever it is: the first bytes choose protocol, status and how many events were sent; a line is
/// the `Retry-After`, the rest is the body.
@Sendable func checkAnswer(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let dialects = DialectRegistry.all
  let dialect = dialects[Int(input.byte()) % dialects.count]
  let status = [200, 202, 204, 301, 400, 401, 403, 404, 408, 413, 429, 500, 503, 0, 999][Int(input.byte()) % 15]
  let choice = input.byte()
  let sent = Int(choice & 0x7F) % 100 + 1
  let header = String(decoding: input.part(before: 0x0A), as: UTF8.self)
  let answer = UpstreamAnswer(
    status: status, retryAfter: header.isEmpty ? [] : [header], body: Array(input.rest), isBodyCut: choice & 0x80 != 0,
    sentEvents: sent, kind: status == 204 ? .identify : .event, now: receivedAt)
  switch dialect.outgoing.judge(answer) {
  case .delivered(let receipt):
    try promise((200...299).contains(status), "\(status) counts as delivered")
    try check(receipt, sent)
  case .retry(let after, _):
    if let after { try promise(after.delay >= .zero && after.delay <= RetryAfter.delayMax, "a wait of \(after.delay)") }
  case .tooLarge(let code, let message):
    try promise(status == 413, "\(status) counts as too large")
    try check(code ?? "", message ?? "")
  case .badRequest(let code, let message):
    try promise(status == 400, "\(status) counts as a bad request")
    try check(code, message)
  case .refused(let named, let code, let message):
    // (Voidhash has its events given up at every status that it doesn't name, a redirection too.)
    try promise(named == status && !(200...299).contains(status), "\(status) counts as a refusal")
    try check(code, message)
  }
}

private func check(_ receipt: BatchReceipt, _ sent: Int) throws(BrokenPromise) {
  try promise(receipt.accepted >= 0 && receipt.unnamedRejections >= 0, "less than nothing was accepted")
  let rejected = receipt.rejected.map(\.index)
  for indices in [rejected, receipt.clamped] {
    try promise(indices.allSatisfy { (0..<sent).contains($0) }, "an event that wasn't sent is named")
    try promise(zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 }, "an event is named twice")
  }
  if receipt.countsAddUp {
    try promise(
      receipt.accepted + receipt.rejected.count + receipt.unnamedRejections == sent, "the counts don't add up")
  }
  for event in receipt.rejected { try check(event.code, event.message) }
}

/// What is kept of an upstream's words.
private func check(_ code: String, _ message: String) throws(BrokenPromise) {
  try promise(code.utf8.count <= UpstreamVerdict.codeLengthMax, "a code of \(code.utf8.count) bytes")
  try promise(message.utf8.count <= UpstreamVerdict.messageLengthMax, "a message of \(message.utf8.count) bytes")
  let controls = (code + message).unicodeScalars.filter { $0.value < 0x20 || $0.value == 0x7F }
  try promise(controls.isEmpty, "a control character is kept of an upstream's words")
}
