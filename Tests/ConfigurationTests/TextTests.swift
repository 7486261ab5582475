import Testing

@testable import Configuration

@Suite struct TextTests {
  @Test func `A word near to a known one was probably meant`() {
    let names = ["listen", "keys", "max_connections", "header_timeout"]
    for (word, meant) in [
      ("lisen", "listen"), ("key", "keys"), ("Listen", "listen"), ("max-connections", "max_connections"),
      ("header_timout", "header_timeout"), ("ilsten", "listen"),
    ] { #expect(Spelling.nearest(to: word, among: names) == meant) }
    for word in ["x", "port", "", "threads"] { #expect(Spelling.nearest(to: word, among: names) == nil) }
  }

  @Test func `Sizes are written as they are read`() throws {
    for text in ["0", "1B", "1000B", "64MiB", "1GiB", "1536KiB", "3GB", "1500kB"] {
      let bytes = try ScalarFormat.size(0...Int.max).parse(text)
      #expect(try ScalarFormat.size(0...Int.max).parse(SizeText.exact(bytes)) == bytes)
    }
    #expect(SizeText.exact(64 << 20) == "64MiB")
    #expect(
      [0, 1023, 1536, 1_500_000_000, 150 << 20].map(SizeText.rounded) == [
        "0 B", "1023 B", "1.5 KiB", "1.4 GiB", "150 MiB",
      ])
  }

  @Test func `Durations are written as they are read`() throws {
    for text in ["0s", "1ms", "1s500ms", "1h30m", "400d", "23h59m59s999ms"] {
      #expect(DurationText.exact(try DurationText.parse(text)) == text)
    }
    #expect(DurationText.rounded(.seconds(2 * 86_400 + 3 * 3600 + 59)) == "2d3h")
    #expect(DurationText.rounded(.seconds(86_459)) == "1d")
    #expect(DurationText.exact(.seconds(-5)) == "0s")
  }
}
