/// The two listeners, as metrics and messages name them.
enum Door: String, Sendable, CaseIterable {
  case ingest, admin
}
