import Testing

@testable import HTTPServer

@Suite("A request's head")
struct RequestHeadTests {
  private func head(_ headers: [(String, String)]) -> RequestHead {
    var head = RequestHead()
    for (name, value) in headers {
      Array(name.utf8).withUnsafeBytes { name in
        Array(value.utf8).withUnsafeBytes { value in head.note(name: name, value: value) }
      }
    }
    return head
  }

  @Test("tells whether there is a body")
  func hasBody() {
    #expect(!head([]).hasBody)
    #expect(!head([("Content-Length", "0")]).hasBody)
    #expect(head([("content-LENGTH", " 7\t")]).contentLength == 7)
    #expect(head([("Transfer-Encoding", "Chunked")]).hasBody)
  }

  @Test("tells the encoding")
  func encoding() {
    #expect(head([]).encoding == .identity)
    #expect(head([("Content-Encoding", "GZIP")]).encoding == .gzip)
    #expect(head([("Content-Encoding", "x-gzip")]).encoding == .gzip)
    #expect(head([("Content-Encoding", "deflate")]).encoding == .deflate)
    #expect(head([("Content-Encoding", "")]).encoding == .identity)
    #expect(head([("Content-Encoding", "br")]).encoding == .unknown)
    #expect(head([("Content-Encoding", "gzip"), ("Content-Encoding", "identity")]).encoding == .unknown)
  }

  @Test("of HTTP/1.0 can't be chunked")
  func oldChunked() {
    let chunked = head([("Host", "h"), ("Transfer-Encoding", "chunked")])
    #expect(chunked.badFraming(isHTTP10: false) == nil)
    #expect(chunked.badFraming(isHTTP10: true) != nil)
    #expect(head([("Host", "h")]).badFraming(isHTTP10: false) == nil)
    #expect(head([]).badFraming(isHTTP10: false) != nil)
    #expect(head([]).badFraming(isHTTP10: true) == nil)
  }

  @Test(
    "has lengths that are plain numbers", arguments: ["", "x", "1x", "+1", "-1", "0x1", "1,1", "18446744073709551616"])
  func lengths(text: String) {
    #expect(head([("Host", "h"), ("Content-Length", text)]).badFraming(isHTTP10: false) != nil)
  }

  @Test("has a target that is split at its first question mark")
  func target() {
    func target(_ text: String) -> Target { Array(text.utf8).withUnsafeBytes { Target($0) } }
    #expect(target("/a?b?c") == Target("/a", "b?c"))
    #expect(target("/a?") == Target("/a", ""))
    #expect(target("") == Target("/", nil))
    #expect(target("https://h") == Target("/", nil))
    #expect(target("http://h?x") == Target("/", "x"))
    #expect(target("*") == Target("*", nil))
  }
}

extension Target {
  fileprivate init(_ path: String, _ query: String?) {
    self.init([].withUnsafeBytes { $0 })
    self.path = path
    self.query = query
  }
}

@Suite("A connection's timer")
struct ConnectionTimerTests {
  private let limits = ConnectionTimer.Limits(
    header: .nanoseconds(100), body: .nanoseconds(200), idle: .nanoseconds(400), discard: .nanoseconds(50))

  @Test("gives a first head its time from the connection's start, whatever comes of it")
  func fresh() {
    var timer = ConnectionTimer(limits, now: 1000)
    timer.headBegan(now: 1050)
    timer.headBegan(now: 1090)
    #expect(timer.deadline == 1100)
    #expect(timer.expire(now: 1100) == .cut)
  }

  @Test("watches an idle connection for its next byte, and gives its head its time from there")
  func watched() {
    var timer = ConnectionTimer(limits, now: 1000)
    timer.headEnded(now: 1010)
    #expect(timer.deadline == 1210)
    timer.bodyEnded()
    #expect(timer.deadline == ConnectionTimer.never)
    timer.answerBegan(now: 1020)
    timer.requestEnded(now: 1030)
    #expect(timer.deadline == 1055)
    #expect(timer.expire(now: 1056) == .watch)
    #expect(timer.deadline == 1430)
    var idle = timer
    timer.headBegan(now: 1200)
    timer.headBegan(now: 1290)
    #expect(timer.deadline == 1300)
    #expect(timer.expire(now: 1300) == .cut)
    #expect(idle.expire(now: 1430) == .cut)
  }

  @Test("looks at intervals whether an answer is taken")
  func answering() {
    var timer = ConnectionTimer(limits, now: 0)
    timer.answerBegan(now: 10)
    #expect(timer.expire(now: 410) == .checkProgress)
    #expect(timer.deadline == 810)
    #expect(timer.expire(now: 810) == .checkProgress)
  }

  @Test("never gives a body more time for being thrown away")
  func discarding() {
    var timer = ConnectionTimer(limits, now: 0)
    timer.headEnded(now: 0)
    var late = timer
    timer.discardingBegan(now: 10)
    #expect(timer.deadline == 60)
    #expect(timer.expire(now: 60) == .answerUnread)
    late.discardingBegan(now: 190)
    #expect(late.deadline == 200)
  }

  @Test("bears limits without end")
  func endless() {
    let limits = ConnectionTimer.Limits(
      header: .seconds(Int64.max), body: .zero, idle: .seconds(Int64.max), discard: .seconds(-1))
    #expect(ConnectionTimer(limits, now: 5).deadline > 5)
    #expect(limits.body == 1 && limits.discard == 1)
  }
}
