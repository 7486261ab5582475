extension FramingCase {
  static let whole = "HEX\r\nBODY\r\n0\r\n\r\n"
  static let twoToThe64 = "18446744073709551616"

  /// All rows of the page, in its order.
  static let table = lengths + codings + chunkSizes + chunkEnds + lines + targets + others

  static let lengths: [FramingCase] = [
    length("`Content-Length: N`", "Content-Length: LEN", 200, goesOn: true),
    length("`Content-Length: 000N`", "Content-Length: 000LEN", 200, goesOn: true),
    length("a tab before N", "Content-Length:\tLEN", 200, goesOn: true),
    length(
      "`Content-Length: 0`", "Content-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: relay\r\nContent-Length: LEN", 400,
      goesOn: true),
    length("`Content_Length: N`", "Content_Length: LEN", 400),
    length("a blank behind N", "Content-Length: LEN ", 400),
    length("a vertical tab before N", "Content-Length: \u{b}LEN", 400),
    length("a form feed behind N", "Content-Length: LEN\u{c}", 400),
    length("a no-break space (A0) before N", "Content-Length: \u{a0}LEN", 400, latin1: true),
    length("`Content-Length:`, empty", "Content-Length:", 400),
    length("`Content-Length: +N`", "Content-Length: +LEN", 400),
    length("`Content-Length: -1`", "Content-Length: -1", 400),
    length("`Content-Length: -0`", "Content-Length: -0", 400),
    length("`Content-Length: 0xN`", "Content-Length: 0xLEN", 400),
    length("`Content-Length: 1_0`", "Content-Length: 1_0", 400),
    length("`Content-Length: 1 0`", "Content-Length: 1 0", 400),
    length("`Content-Length: 1e2`", "Content-Length: 1e2", 400),
    length("`Content-Length: N.0`", "Content-Length: LEN.0", 400),
    length("`Content-Length: N;x`", "Content-Length: LEN;x", 400),
    length("`Content-Length: N, N`", "Content-Length: LEN, LEN", 400),
    length("2^64 and more", "Content-Length: \(twoToThe64)", 413),
    length("2^64 − 1", "Content-Length: 18446744073709551615", 413),
    length("2^63", "Content-Length: 9223372036854775808", 413),
    length("`Content-Length: N` twice", "Content-Length: LEN\r\nContent-Length: LEN", 400),
    length("`Content-Length` twice, N and 1", "Content-Length: LEN\r\nContent-Length: 1", 400),
    length("`Content-Length: N` in HTTP/1.0", "Content-Length: LEN", 200, line: "POST /v1/events HTTP/1.0"),
    length(
      "`Content-Length: N` in HTTP/1.0 with `Connection: keep-alive`",
      "Content-Length: LEN\r\nConnection: keep-alive", 200, goesOn: true, line: "POST /v1/events HTTP/1.0"),
    length("`Content-Length: N` and `Connection: close`", "Content-Length: LEN\r\nConnection: close", 200),
  ]

  static let codings: [FramingCase] = [
    chunks("`Transfer-Encoding: chunked`", whole, 200),
    chunks("`Transfer-Encoding: CHUNKED`", whole, 200, headers: "Transfer-Encoding: CHUNKED"),
    chunks("a tab before `chunked`", whole, 200, headers: "Transfer-Encoding:\tchunked"),
    chunks(
      "`Content-Length`, then `Transfer-Encoding`", whole, 400,
      headers: "Content-Length: 5\r\nTransfer-Encoding: chunked"),
    chunks(
      "`Transfer-Encoding`, then `Content-Length`", whole, 400,
      headers: "Transfer-Encoding: chunked\r\nContent-Length: 5"),
    chunks(
      "`Transfer-Encoding: chunked` twice", whole, 400,
      headers: "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
    chunks("`chunked, chunked`", whole, 400, headers: "Transfer-Encoding: chunked, chunked"),
    chunks("`chunked, identity`", whole, 400, headers: "Transfer-Encoding: chunked, identity"),
    chunks("`gzip, chunked`", whole, 400, headers: "Transfer-Encoding: gzip, chunked"),
    chunks("`identity`", whole, 400, headers: "Transfer-Encoding: identity"),
    length(
      "`identity` and `Content-Length: N`", "Transfer-Encoding: identity\r\nContent-Length: LEN", 400),
    chunks("`xchunked`", whole, 400, headers: "Transfer-Encoding: xchunked"),
    chunks("`chunkedx`", whole, 400, headers: "Transfer-Encoding: chunkedx"),
    chunks("`,chunked`", whole, 400, headers: "Transfer-Encoding: ,chunked"),
    chunks("`chunked;x=1`", whole, 400, headers: "Transfer-Encoding: chunked;x=1"),
    chunks("`\"chunked\"`", whole, 400, headers: "Transfer-Encoding: \"chunked\""),
    chunks("`Transfer-Encoding:`, empty", whole, 400, headers: "Transfer-Encoding:"),
    chunks("`Transfer-Encoding : chunked`", whole, 400, headers: "Transfer-Encoding : chunked"),
    chunks("a vertical tab before `chunked`", whole, 400, headers: "Transfer-Encoding:\u{b}chunked"),
    chunks("a vertical tab behind the name", whole, 400, headers: "Transfer-Encoding\u{b}: chunked"),
    chunks("a tab behind `chunked`", whole, 400, headers: "Transfer-Encoding: chunked\t"),
    chunks("a zero byte behind the name", whole, 400, headers: "Transfer-Encoding\0: chunked"),
    chunks("`Transfer-Encoding:`, a line feed, ` chunked`", whole, 400, headers: "Transfer-Encoding:\n chunked"),
    length("`Transfer_Encoding: chunked`", "Transfer_Encoding: chunked\r\nContent-Length: LEN", 200, goesOn: true),
    chunks("`chunked` in HTTP/1.0", whole, 400, line: "POST /v1/events HTTP/1.0"),
    chunks(
      "`chunked` in HTTP/1.0 with `Connection: keep-alive`", whole, 400,
      headers: "Transfer-Encoding: chunked\r\nConnection: keep-alive", line: "POST /v1/events HTTP/1.0"),
  ]

  static let chunkSizes: [FramingCase] = [
    chunks("200 zeros before the size", String(repeating: "0", count: 200) + whole, 200),
    chunks("`000` for the last chunk", "HEX\r\nBODY\r\n000\r\n\r\n", 200),
    chunks("`0xSIZE`", "0x" + whole, 400),
    chunks("`-SIZE`", "-" + whole, 400),
    chunks("`+SIZE`", "+" + whole, 400),
    chunks("`0_SIZE`", "0_" + whole, 400),
    chunks("`SIZEg`", "HEXg\r\nBODY\r\n0\r\n\r\n", 400),
    chunks("`SIZE.0`", "HEX.0\r\nBODY\r\n0\r\n\r\n", 400),
    chunks("a blank before the size", " " + whole, 400),
    chunks("a blank behind the size", "HEX \r\nBODY\r\n0\r\n\r\n", 400),
    chunks("a zero byte behind the size", "HEX\0\r\nBODY\r\n0\r\n\r\n", 400),
    chunks("no size", "\r\nBODY\r\n0\r\n\r\n", 400),
    chunks("a size of 2^64 + SIZE", "10000000000000000\r\nBODY\r\n0\r\n\r\n", 413),
    chunks("a size of 2^63", "8000000000000000\r\nBODY\r\n0\r\n\r\n", 408),
    chunks("a size of 2^32 + SIZE", "100000000\r\nBODY\r\n0\r\n\r\n", 408),
    chunks("an extension, `;a=b`", "HEX;a=b\r\nBODY\r\n0\r\n\r\n", 200),
    chunks(
      "an extension of 10,000 bytes", "HEX;" + String(repeating: "a", count: 10_000) + "\r\nBODY\r\n0\r\n\r\n", 200),
    chunks(
      "an extension of 100,000 bytes", "HEX;" + String(repeating: "a", count: 100_000) + "\r\nBODY\r\n0\r\n\r\n", 408),
    chunks("an extension with a line feed in it", "HEX;\na\r\nBODY\r\n0\r\n\r\n", 400),
    chunks("an extension with a carriage return in it", "HEX;a\rb\r\nBODY\r\n0\r\n\r\n", 200),
    chunks("an extension with a quoted `\\r\\n0\\r\\n`", "HEX;a=\"\r\n0\r\n\r\n\"\r\nBODY\r\n0\r\n\r\n", 400),
  ]

  static let chunkEnds: [FramingCase] = [
    chunks("a line feed alone behind the size", "HEX\nBODY\r\n0\r\n\r\n", 200),
    chunks("a carriage return alone behind the size", "HEX\rBODY\r\n0\r\n\r\n", 400),
    chunks("a line feed alone behind the data", "HEX\r\nBODY\n0\r\n\r\n", 200),
    chunks("nothing behind the data", "HEX\r\nBODY0\r\n\r\n", 400),
    chunks("two letters behind the data", "HEX\r\nBODYxx0\r\n\r\n", 400),
    chunks("more data than the size says", "HEX\r\nBODYx\r\n0\r\n\r\n", 400),
    chunks("line feeds alone at the end", "HEX\r\nBODY\r\n0\n\n", 200),
    chunks("trailers", "HEX\r\nBODY\r\n0\r\nX-T: 1\r\n\r\n", 200),
    chunks("a trailer `Content-Length: 5`, which says nothing", "HEX\r\nBODY\r\n0\r\nContent-Length: 5\r\n\r\n", 200),
    chunks(
      "a trailer `Transfer-Encoding`, which says nothing", "HEX\r\nBODY\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", 200
    ),
    chunks("a trailer `X-Write-Key`, which says nothing", "HEX\r\nBODY\r\n0\r\nX-Write-Key: other\r\n\r\n", 200),
    chunks("a trailer without a colon", "HEX\r\nBODY\r\n0\r\nGET / HTTP/1.1\r\n\r\n", 400),
    chunks(
      "60,000 bytes of trailers", "HEX\r\nBODY\r\n0\r\nX: " + String(repeating: "a", count: 60_000) + "\r\n\r\n", 431),
    chunks(
      "`Expect: 100-continue`, and a body that isn't chunked", "zz\r\n", 100,
      headers: "Transfer-Encoding: chunked\r\nExpect: 100-continue"),
  ]

  static let lines: [FramingCase] = [
    length("a carriage return in a value", "X-A: a\rTransfer-Encoding: chunked\r\nContent-Length: LEN", 400),
    length("a carriage return for a line's end", "X-A: a\rContent-Length: LEN", 400),
    length("a line feed for a line's end", "X-A: a\nContent-Length: LEN", 200, goesOn: true),
    length("a header that goes on in the next line", "X-A: a\r\n b\r\nContent-Length: LEN", 400),
    length(
      "the first header after a blank", " Content-Length: LEN\r\nX-A: a", 400, host: "",
      common: "Host: relay\r\n" + common),
    length("a zero byte in a value", "X-A: a\0b\r\nContent-Length: LEN", 400),
    length("a control character in a value", "X-A: \u{1}\r\nContent-Length: LEN", 400),
    length("no name", ": a\r\nContent-Length: LEN", 400),
    length("no colon", "X-A\r\nContent-Length: LEN", 400),
    length("a name with a bracket", "X(A: a\r\nContent-Length: LEN", 400),
    length("a name that isn't ASCII", "X\u{e9}: a\r\nContent-Length: LEN", 400),
    length("`Content-Length@: 1`", "Content-Length@: 1\r\nContent-Length: LEN", 400),
  ]

  static let targets: [FramingCase] = [
    first("`POST http://relay/v1/events`", "POST http://relay/v1/events HTTP/1.1", 200, goesOn: true),
    first("`POST HTTP://other/v1/events`, `Host: relay`", "POST HTTP://other/v1/events HTTP/1.1", 200, goesOn: true),
    first("`POST http:///v1/events`", "POST http:///v1/events HTTP/1.1", 400),
    first("`POST http://u:p@relay/v1/events`", "POST http://u:p@relay/v1/events HTTP/1.1", 400),
    first("`POST ftp://relay/v1/events`", "POST ftp://relay/v1/events HTTP/1.1", 400),
    first("`POST relay:80`", "POST relay:80 HTTP/1.1", 400),
    first("`POST v1/events`", "POST v1/events HTTP/1.1", 400),
    first("`POST /x/../v1/events`", "POST /x/../v1/events HTTP/1.1", 404, goesOn: true),
    first("`POST /v1/%65vents`", "POST /v1/%65vents HTTP/1.1", 404, goesOn: true),
    first("`POST /v1/events?x`", "POST /v1/events?x HTTP/1.1", 200, goesOn: true),
    first("`POST /v1/events#x`", "POST /v1/events#x HTTP/1.1", 400),
    first("a zero byte behind the target", "POST /v1/events\0 HTTP/1.1", 400),
    first("a zero byte in the target", "POST /v1/events\0x HTTP/1.1", 400),
    first("a control character in the target", "POST /v1/events\u{1} HTTP/1.1", 400),
    first("two spaces before the target", "POST  /v1/events HTTP/1.1", 400),
    first("two spaces behind the target", "POST /v1/events  HTTP/1.1", 400),
    first("a tab for a space", "POST\t/v1/events HTTP/1.1", 400),
    first("no target", "POST  HTTP/1.1", 400),
    first("no `Host`", "POST /v1/events HTTP/1.1", 400, host: ""),
    first("no `Host` in HTTP/1.0", "POST /v1/events HTTP/1.0", 200, host: ""),
    first("`Host:`, empty", "POST /v1/events HTTP/1.1", 200, goesOn: true, host: "Host:"),
    first("`Host` twice", "POST /v1/events HTTP/1.1", 400, host: "Host: relay\r\nHost: relay"),
    first("`Host: a, b`", "POST /v1/events HTTP/1.1", 400, host: "Host: a, b"),
    first("`Host: a/b`", "POST /v1/events HTTP/1.1", 400, host: "Host: a/b"),
    first("`Host: a@b`", "POST /v1/events HTTP/1.1", 400, host: "Host: a@b"),
    first("`Host: a:b`", "POST /v1/events HTTP/1.1", 400, host: "Host: a:b"),
    first("`Host: [::1]:80`", "POST /v1/events HTTP/1.1", 200, goesOn: true, host: "Host: [::1]:80"),
  ]

  static let others: [FramingCase] = [
    raw("HTTP/0.9, `GET /`", "GET /\r\n", 400),
    raw("HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
    first("`http/1.1`", "POST /v1/events http/1.1", 400),
    first("`HTTP/1.2`", "POST /v1/events HTTP/1.2", 200, goesOn: true),
    first("`HTTP/2.0`", "POST /v1/events HTTP/2.0", 505),
    first("`HTTP/1.1x`", "POST /v1/events HTTP/1.1x", 400),
    first("a blank behind `HTTP/1.1`", "POST /v1/events HTTP/1.1 ", 400),
    first("no version", "POST /v1/events", 400),
    first("a blank before the first line", " POST /v1/events HTTP/1.1", nil),
    first("empty lines before the first line", "\r\n\r\nPOST /v1/events HTTP/1.1", 200, goesOn: true),
    first("a carriage return before the first line", "\rPOST /v1/events HTTP/1.1", 400),
    first("a zero byte before the first line", "\0POST /v1/events HTTP/1.1", 400),
    first("`post`", "post /v1/events HTTP/1.1", 405, goesOn: true),
    first("`PO(ST`", "PO(ST /v1/events HTTP/1.1", 400),
    first("GET with a body", "GET /v1/events HTTP/1.1", 405, goesOn: true),
    first("HEAD with a body", "HEAD /v1/events HTTP/1.1", 405, goesOn: true),
    first("`OPTIONS *`", "OPTIONS * HTTP/1.1", 404, goesOn: true),
    first("`POST *`", "POST * HTTP/1.1", 400),
    first("CONNECT", "CONNECT relay:80 HTTP/1.1", 400),
    first("TRACE", "TRACE /v1/events HTTP/1.1", 405, goesOn: true),
    length("`Expect: 100-continue`", "Content-Length: LEN\r\nExpect: 100-continue", 100, goesOn: true),
    length("`Expect: other`", "Content-Length: LEN\r\nExpect: other", 200, goesOn: true),
    length(
      "`Expect: 100-continue` with too long a body", "Content-Length: 99999999\r\nExpect: 100-continue", 413),
    length(
      "`Upgrade: h2c`", "Content-Length: LEN\r\nConnection: Upgrade\r\nUpgrade: h2c", 200, goesOn: true),
  ]
}
