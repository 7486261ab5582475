/// Why there is no passport.
enum PassportError: Error, CustomStringConvertible {
  case noID(String)

  var description: String {
    "an event_id is a UUID such as 0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30: 32 hex digits in groups of 8-4-4-4-12"
  }
}
