/// Why there can be no registry, or not this one. Never tells a key.
public enum AppsError: Error, Sendable, Equatable, CustomStringConvertible {
  case unreadable(path: String, reason: String)
  case newerVersion(path: String, found: Int, known: Int)
  case repeatedName(String)
  case sharedKey(app: String, other: String)
  case severalDefaults(app: String, other: String)
  case malformedKey(app: String)

  public var description: String {
    switch self {
    case .unreadable(let path, let reason):
      "\(path): can't be read: \(reason); it holds the keys that waiting events are sent with, so give this user access to it"
    case .newerVersion(let path, let found, let known):
      "\(path): has version \(found), and this program reads up to version \(known); run the program that wrote it, or a newer one"
    case .repeatedName(let name): "two apps are named \(name); give one of them another name"
    case .sharedKey(let app, let other): "apps \(app) and \(other) share a key; take it away from one of them"
    case .severalDefaults(let app, let other):
      "apps \(app) and \(other) are both marked default; requests without a key can belong to one only"
    case .malformedKey(let app):
      "app \(app) has a key that isn't 1 to \(KeyRules.lengthMax) visible ASCII characters; correct it"
    }
  }
}
