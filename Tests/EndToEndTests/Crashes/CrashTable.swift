/// Every place where a relay changes a file: what it does to each kind.
enum CrashTable {
  static let points: Set<String> = []
}
