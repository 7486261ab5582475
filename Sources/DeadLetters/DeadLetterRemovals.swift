import Records

/// How many dead letters of each destination went without being sent, read without opening the store. Reads only.
public enum DeadLetterRemovals {
  public static func counts(_ directory: String) -> [String: Int] {
    RemovedLetters.read(directory, .system, mends: false).counts.mapValues { $0.values.reduce(0, +) }
  }
}
