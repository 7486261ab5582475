/// The API's numbers.
public enum EventsLimits {
  /// Bytes of a body, after content decoding.
  public static let bodyBytesMax = 1_048_576
  public static let batchEventsMax = 100
  /// Bytes of an event's shortest JSON.
  public static let eventBytesMax = 8192
  public static let nameLengthMax = 64
  public static let idLengthMax = 128
  public static let propertiesMax = 50
  public static let propertyKeyLengthMax = 64
  public static let propertyStringLengthMax = 1024
  public static let eventNamesMax = 500
  /// `occurred_at` is clamped when it is more than this before now, or more than ``futureMax`` after it.
  public static let pastMax: Duration = .seconds(7 * 86_400)
  public static let futureMax: Duration = .seconds(300)
}
