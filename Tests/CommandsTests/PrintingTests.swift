import Foundation
import TestSupport
import Testing

@testable import Commands

@Suite struct PrintingTests {
  @Test func `A table aligns its columns and lets nothing move the cursor`() {
    var table = Table([.init("name"), .init("count", isNumber: true), .init("note")])
    table.add(["a", "1", "x\u{1B}[31m\ny"])
    table.add(["longer", "1000", ""])
    #expect(table.text == "NAME    COUNT  NOTE\na           1  x [31m y\nlonger   1000  -\n")
  }

  @Test func `A bar is drawn ten times a second at most`() {
    var bar = ProgressBar(width: 60)
    let start = ContinuousClock.now
    #expect(
      bar.frame(share: 0, "0 events", at: start) == "\r\u{1B}[K[\(String(repeating: " ", count: 30))]   0% 0 events")
    #expect(bar.frame(share: 0.2, "", at: start + .milliseconds(99)) == nil)
    #expect(bar.frame(share: 0.5, "5 events", at: start + .milliseconds(100))?.contains("[###############    ") == true)
  }

  @Test func `A bar fits its terminal`() {
    for width in [0, 1, 10, 20, 40, 200] {
      for share in [nil, -1.0, 0, 0.999, 1, 7] {
        #expect(ProgressBar(width: width).line(share: share, "1234567 accepted, 0 rejected").count <= max(width - 1, 0))
      }
    }
    #expect(ProgressBar(width: 80).line(share: 1, "done").hasPrefix("[##############################] 100% done"))
    #expect(ProgressBar(width: 80).line(share: nil, "12 events") == "12 events")
  }

  @Test func `Results that can't be written are a failure`() async {
    let output = Output { stream, _ in stream == .output ? "No space left on device" : nil }
    let context = CommandContext(output: output, environment: [:])
    #expect(await Entry.run(["--version"], context) == .failed)
  }

  @Test func `A spool gives back what it got, from memory and from its file`() throws {
    let spool = Spool(memoryMax: 10)
    for number in 0..<100 { try spool.append(Array("\(number),".utf8)) }
    var out: [UInt8] = []
    try spool.drain { out += $0 }
    #expect(String(decoding: out, as: UTF8.self) == (0..<100).map { "\($0)," }.joined())
  }
}

@Suite struct ReadingTests {
  @Test(arguments: [
    ("", InputShape.lines), ("x", .lines), ("{}", .lines), ("{}\n{}", .lines), (" [1]", .array),
    (#"{"events":[]}"#, .batch), ("{\n\"events\" : [", .batch), (#"{"a":{"events":[1]}}"#, .lines),
    (#"{"a":"events","b":[1]}"#, .lines), (#"{"events":"x"}"#, .lines), (#"{"x":"\"","events":["#, .batch),
    ("{\n\"name\":1}", .event), ("{\"a\n\":", .lines), (#"{"a":[1,"events",[2]]}"#, .lines),
    ("\u{FEFF}{\"events\":[", .batch),
    ("{\"name\":\n", .event),
  ])
  func `A file's shape is told by its begin`(_ text: String, _ shape: InputShape) {
    #expect(InputShape(head: Array(text.utf8)) == shape, "\(text)")
  }

  private let directory = TemporaryDirectory()

  private func input(_ text: String) throws -> InputFile {
    try InputFile(directory.write("in", text), standardInput: 0)
  }

  @Test func `The head can be read again`() throws {
    let file = try input("0123456789")
    #expect(try file.head(4).bytes == Array("0123".utf8))
    #expect(try file.head(4).isAll == false)
    #expect(try file.head(10).isAll)
    #expect(try file.read(3) == Array("012".utf8))
    #expect(file.share == 0.3)
    #expect(try file.read(100) == Array("3456789".utf8))
    #expect(try file.read(100).isEmpty)
  }

  @Test func `Lines of every length come whole`() throws {
    let lengths = [1, 0, 5, 262_143, 262_144, 262_145, 1 << 20, (1 << 20) + 1, 2 << 20, 3, 0, 7]
    let text = lengths.map { String(repeating: "x", count: $0) }.joined(separator: "\n")
    let lines = LineReader(try input(text))
    var read: [[Int]] = []
    while let line = try lines.next() { read.append([line.number, line.bytes?.count ?? -1]) }
    let expected = lengths.enumerated().filter { $0.element > 0 }
      .map { [$0.offset + 1, $0.element > 1 << 20 ? -1 : $0.element] }
    #expect(read == expected)
  }

  @Test func `Elements come as they stand`() throws {
    let elements = [#"{"a":"],}\"","b":[1,{"c":2}]}"#, "7", #""x,y""#, "null", "[ 1 , 2 ]", "{\n}"]
    let reader = ElementReader(
      try input(#"{"events":"no","x":{"events":[0]}, "events" :[ \#(elements.joined(separator: " ,\n")) ], "y":[1]}"#))
    var read: [String] = []
    while let element = try reader.next() { read.append(String(decoding: element, as: UTF8.self)) }
    #expect(read == elements)
  }
}
