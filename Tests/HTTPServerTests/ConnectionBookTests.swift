import Glibc
import Testing

@testable import HTTPServer

@Suite("Which connections are taken")
struct ConnectionBookTests {
  private let here = PeerNetwork(ipv4: 0x7F00_0001)
  private let one = PeerNetwork(ipv4: 0x0A00_0001)
  private let other = PeerNetwork(ipv4: 0x0A00_0002)

  @Test("is up to the limit over all, and to that of one address")
  func limits() {
    var book = ConnectionBook(limit: 4, perAddress: 2)
    for _ in 0..<2 {
      #expect(book.verdict(on: one) == .taken)
      book.opened(one)
    }
    #expect(book.verdict(on: one) == .tooManyOfAddress)
    #expect(book.verdict(on: other) == .taken)
    book.opened(other)
    book.opened(nil)
    #expect(book.verdict(on: other) == .full && book.verdict(on: nil) == .full)
    book.closed(one)
    #expect(book.verdict(on: one) == .taken && book.verdict(on: nil) == .taken)
    book.opened(nil)
    book.setLimits(100, perAddress: 0)
    for _ in 0..<50 {
      #expect(book.verdict(on: one) == .taken)
      book.opened(one)
    }
    #expect(book.count == 54)
  }

  @Test("without a setting leaves a quarter to others, and this machine's senders, and unix sockets, all")
  func byDefault() {
    let book = ConnectionBook(limit: 1024, perAddress: nil)
    #expect(book.limit(of: one) == 768)
    #expect(book.limit(of: here) == .max)
    #expect(ConnectionBook(limit: 1, perAddress: nil).limit(of: one) == 1)
    #expect(ConnectionBook(limit: 1024, perAddress: 5).limit(of: here) == 5)
    #expect(ConnectionBook(limit: 1024, perAddress: 0).limit(of: one) == .max)
  }

  @Test("counts an IPv4 address however it is written, and an IPv6 network of 64 bits")
  func networks() {
    func six(_ text: String) -> PeerNetwork? {
      var storage = sockaddr_storage()
      withUnsafeMutableBytes(of: &storage) { bytes in
        bytes.withMemoryRebound(to: sockaddr_in6.self) { six in
          six[0].sin6_family = sa_family_t(AF_INET6)
          inet_pton(AF_INET6, text, &six[0].sin6_addr)
        }
      }
      return PeerNetwork(storage)
    }
    #expect(six("2001:db8::1") == six("2001:db8::ffff:1"))
    #expect(six("2001:db8::1") != six("2001:db8:0:1::1"))
    #expect(six("::ffff:10.0.0.1") == one)
    #expect(six("::1")?.isLoopback == true && six("::2")?.isLoopback == false && here.isLoopback && !one.isLoopback)
    #expect(six("::ffff:127.9.9.9")?.isLoopback == true)
    var unix = sockaddr_storage()
    unix.ss_family = sa_family_t(AF_UNIX)
    #expect(PeerNetwork(unix) == nil)
  }

  private static let second: UInt64 = 1_000_000_000
  private static let limits = ConnectionTimer.Limits(
    header: .seconds(10), body: .seconds(30), idle: .seconds(75), discard: .seconds(2))

  @Test(
    "lets the idle make way first, then the silent, then slow heads, then slow bodies; nobody who is quick or waits")
  func displacement() throws {
    let s = Self.second
    let fresh = ConnectionTimer(Self.limits, now: 10 * s)
    #expect(fresh.displacement(now: 10 * s + s / 2) == nil)
    var head = fresh
    head.headBegan(now: 12 * s)
    #expect(head.displacement(now: 12 * s + s / 2) == nil)
    var body = head
    body.headEnded(now: 12 * s)
    #expect(body.displacement(now: 16 * s) == nil)
    var handling = body
    handling.bodyEnded()
    #expect(handling.displacement(now: 1000 * s) == nil)
    var idle = handling
    idle.answerBegan(now: 13 * s)
    #expect(idle.displacement(now: 1000 * s) == nil)
    idle.requestEnded(now: 13 * s)
    #expect(idle.displacement(now: 1000 * s) == nil)
    #expect(idle.expire(now: 15 * s) == .watch)
    let ranks = [idle, fresh, head, body].map { $0.displacement(now: 20 * s) }
    let known = ranks.compactMap { $0 }
    #expect(known.count == 4 && known == known.sorted())
    var later = idle
    later.headBegan(now: 16 * s)
    later.requestEnded(now: 17 * s)
    _ = later.expire(now: 19 * s)
    #expect(try #require(idle.displacement(now: 20 * s)) < #require(later.displacement(now: 20 * s)))
  }

  @Test("of a server that stops waits for heads until a moment, and for bodies and answers as ever")
  func hurry() {
    let s = Self.second
    var head = ConnectionTimer(Self.limits, now: 0)
    head.headBegan(now: s)
    var body = head
    body.headEnded(now: s)
    head.hurry(until: 2 * s)
    body.hurry(until: 2 * s)
    #expect(head.deadline == 2 * s && head.expire(now: 2 * s) == .cut)
    #expect(body.deadline == 31 * s)
  }
}
