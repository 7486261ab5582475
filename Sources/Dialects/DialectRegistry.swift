/// All protocols that the relay speaks.
public enum DialectRegistry {
  public static let all: [any Dialect] = [
    AppStoreOperator(),
    Datalyr(),
    Voidhash(),
  ]

  /// What apps speak that say nothing else.
  public static var usual: any Dialect { all[0] }

  private static let byNumber = Dictionary(uniqueKeysWithValues: all.map { ($0.number, $0) })
  private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

  /// Nil for one that only a newer program knows.
  public static func dialect(_ number: UInt8) -> (any Dialect)? { byNumber[number] }

  public static func dialect(named name: String) -> (any Dialect)? { byName[name] }

  /// The protocol that a record names; one of an older program names none. Nil for one that only a newer program knows.
  public static func dialect(recorded name: String?) -> (any Dialect)? { name.map { byName[$0] } ?? usual }

  /// What records call a protocol; one that only a newer program knows is called by its number.
  public static func name(of number: UInt8) -> String { byNumber[number]?.name ?? "unknown-\(number)" }
}
