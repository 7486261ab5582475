/// What the executable calls.
public enum Entry {
  public static func main(_ arguments: [String]) async -> Int32 { 2 }
}
