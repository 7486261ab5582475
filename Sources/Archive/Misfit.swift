/// What is wrong with some bytes, as the end of a sentence that begins with what they are.
struct Misfit: Error, Sendable, Equatable {
  var detail: String

  init(_ detail: String) { self.detail = detail }
}
