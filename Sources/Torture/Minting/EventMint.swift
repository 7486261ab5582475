import Clocks

/// Makes the run's events: the one of a number has the same bytes whenever it is asked for, so that nobody has to keep them.
public struct EventMint: Sendable {
  /// What an event is for.
  enum Kind: Sendable, Equatable {
    /// Is to arrive everywhere.
    case good
    /// Keeps the rules, and the scripted upstream refuses it for good: a dead letter.
    case unwanted
    /// Breaks a rule: is to be rejected at the door, and to arrive nowhere.
    case invalid
    /// A link of an install to a user.
    case identify
  }

  let seed: UInt64
  /// When the run began: events bear times before it.
  let start: Timestamp

  init(seed: UInt64, start: Timestamp) {
    self.seed = seed
    self.start = start
  }

  /// Ten characters that no other run's ids have.
  private var mark: UInt64 { SeededGenerator.mixed(seed ^ UInt64(bitPattern: start.milliseconds)) }

  func kind(_ number: Int) -> Kind {
    switch number % 50 {
    case 13: .unwanted
    case 27, 41: .invalid
    case 33: .identify
    default: .good
    }
  }

  /// The write key that the event is sent with; nil: with none, so that it is the default app's.
  func key(_ number: Int) -> String? {
    switch draw(number, 1) % 4 {
    case 0: "aso_wk_torture_ios"
    case 1: "aso_wk_torture_android"
    case 2: "aso_wk_torture_elsewhere"
    default: nil
    }
  }

  /// The event's id, in lower case or in capitals: its last twelve digits are its number.
  func id(_ number: Int) -> String {
    let digits = Self.hex(mark, 16) + Self.hex(UInt64(number), 12)
    let texts = digits.map(String.init)
    let text =
      "\(texts[0..<8].joined())-\(texts[8..<12].joined())-4\(texts[12..<15].joined())-8"
      + "0\(texts[15])0-\(texts[16..<28].joined())"
    return number % 7 == 3 ? text.uppercased() : text
  }

  /// The number of the event that bears an id; nil for one that is none of this run's.
  func number(ofID id: String) -> Int? {
    guard id.utf8.count == 36, let number = Int(id.suffix(12), radix: 16), number >= 0, self.id(number) == id
    else { return nil }
    return number
  }

  /// The user of an identify call: its number is in it.
  func user(_ number: Int) -> String { "user-\(String(Self.hex(mark, 16)))-\(number)" }

  func number(ofUser user: String) -> Int? {
    guard let last = user.split(separator: "-").last, let number = Int(last), number >= 0, self.user(number) == user
    else { return nil }
    return number
  }

  func install(_ number: Int) -> String { "install-\(draw(number, 2) % 97)" }

  /// A number drawn for an event, the same each time.
  func draw(_ number: Int, _ salt: UInt64) -> UInt64 {
    SeededGenerator.mixed(seed &+ UInt64(number) &* 0x9E37_79B9 &+ salt &* 0xD1B5_4A32_D192_ED03)
  }

  private static func hex(_ number: UInt64, _ digits: Int) -> [Character] {
    let text = String(number, radix: 16)
    return Array(String(repeating: "0", count: max(0, digits - text.count)) + text)
  }
}
