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
    func expect(_ text: String, _ path: String, _ query: String?, authority: String? = nil) {
      let target = Array(text.utf8).withUnsafeBytes { Target($0) }
      #expect(target.path == path && target.query == query && target.authority == authority, "\(text)")
    }
    expect("/a?b?c", "/a", "b?c")
    expect("/a?", "/a", "")
    expect("", "/", nil)
    expect("https://h", "/", nil, authority: "h")
    expect("http://h:1?x", "/", "x", authority: "h:1")
    expect("HTTP://H/a", "/a", nil, authority: "H")
    expect("*", "*", nil)
  }

  @Test("has a target that is a path, or a whole URL of this kind of server")
  func targetFaults() {
    func isRefused(_ text: String, _ method: String = "GET") -> Bool {
      Array(text.utf8).withUnsafeBytes { Target($0) }.fault(method: method) != nil
    }
    for good in ["/", "/a%20b?c", "http://h/a", "https://[::1]:80", "/\u{e9}", "//a"] { #expect(!isRefused(good)) }
    for bad in [
      "", "a", "h:80", "*", "ftp://h/a", "http:///a", "http://u@h/a", "http://h:x/", "/a#b", "/a b", "/a\tb", "/\u{7f}",
    ] {
      #expect(isRefused(bad), "\(bad)")
    }
    #expect(!isRefused("*", "OPTIONS"))
    #expect(isRefused("/", "CONNECT"))
  }

  @Test("has a Host that is a host and perhaps a port")
  func hosts() {
    for good in ["", "h", "h:80", "h:", "1.2.3.4:5", "[::1]", "[fe80::1]:8080", "a_b.example"] {
      #expect(RequestHead.isHost(good.utf8), "\(good)")
    }
    for bad in ["a b", "a/b", "a@b", "a:b", "a:1:2", "[::1]x", "[::1]:x", "a\u{1}", "\u{e9}", "a?b", "a#b", "a\\b"] {
      #expect(!RequestHead.isHost(bad.utf8), "\(bad)")
    }
  }

  @Test("has no control characters in its headers, and names that are words")
  func characters() {
    #expect(head([("Host", "h"), ("X-A", "a\tb \u{e9}")]).badFraming(isHTTP10: false) == nil)
    for value in ["a\rb", "a\nb", "\u{1}", "\u{7f}", "\u{0}"] {
      #expect(head([("Host", "h"), ("X-A", value)]).badFraming(isHTTP10: false) != nil)
    }
    for name in ["", "a b", "a(b)", "a@", "\"a\"", "\u{e9}", "a\u{0}", "a:"] {
      #expect(head([("Host", "h"), (name, "x")]).badFraming(isHTTP10: false) != nil, "\(name)")
    }
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
