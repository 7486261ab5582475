extension AcceptedEvent {
  /// The event's bytes in the body it was read from.
  public func bytes(in body: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: body[offset..<offset + length])
  }

  // The members' texts, unescaped: off the hot path, for who keeps events by them. Empty for a member that isn't there;
  // a lone surrogate shows as U+FFFD.

  public func name(in body: UnsafeRawBufferPointer) -> String { text(at: nameOffset, in: body) }

  public func anonymousID(in body: UnsafeRawBufferPointer) -> String { text(at: anonymousIDOffset, in: body) }

  public func userID(in body: UnsafeRawBufferPointer) -> String? {
    hasUser ? text(at: userIDOffset, in: body) : nil
  }

  private func text(at memberOffset: Int, in body: UnsafeRawBufferPointer) -> String {
    guard memberOffset > 0 else { return "" }
    return JSONStringToken.unescaped(at: UnsafeRawBufferPointer(rebasing: bytes(in: body)[memberOffset...]))
  }
}
