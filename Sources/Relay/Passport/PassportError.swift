import Dialects

/// Why there is no passport.
enum PassportError: Error, CustomStringConvertible {
  case noID

  var description: String { SoughtID.rule }
}
