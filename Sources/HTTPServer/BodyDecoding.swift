/// How a body is decoded.
///
/// An encoded body is held as it came until it is complete, or so large that what it decodes to can't be out of all
/// proportion: a few bytes that stand for a megabyte cost a megabyte only for the moment in which they are judged, not for as
/// long as a sender leaves them unfinished. Nor does each have zlib's state.
enum BodyDecoding {
  /// It is taken as it comes.
  case none
  /// The connection's buffer has what came, still encoded.
  case holding(ContentDecoder.Format)
  /// The buffer has what was decoded.
  case decoding(ContentDecoder)

  /// Bytes of an encoded body that are held.
  static let heldMax = 16 * 1024

  var isNone: Bool {
    if case .none = self { true } else { false }
  }
}
