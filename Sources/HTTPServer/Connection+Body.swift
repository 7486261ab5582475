import CMicrohttpd

extension Connection {
  /// Some of the body is there.
  func received(_ bytes: UnsafeRawBufferPointer) -> MHD_Result {
    switch plan {
    case .collect(let limit): store(bytes, limit: limit)
    case .discard(let response, let left):
      if bytes.count <= left {
        plan = .discard(response, left: left - bytes.count)
      } else {
        abandon(with: response)
      }
    case .drain(let left):
      guard bytes.count <= left else { return MHD_Result.NO }
      plan = .drain(left: left - bytes.count)
    case .none, .done: break
    }
    return MHD_Result.YES
  }

  private func store(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    guard let buffer else { return }
    switch decoding {
    case .none:
      guard buffer.count + bytes.count <= limit else { return discard(.bodyTooLarge(limit: limit)) }
      guard buffer.reserve(buffer.count + bytes.count, limit: limit) else { return overloaded() }
      buffer.append(bytes)
    case .holding where buffer.count + bytes.count <= BodyDecoding.heldMax:
      guard buffer.reserve(buffer.count + bytes.count, limit: BodyDecoding.heldMax) else { return overloaded() }
      buffer.append(bytes)
    case .holding, .decoding:
      if let fault = beginDecoding(limit: limit) ?? decode(bytes, limit: limit) { discard(fault) }
    }
  }

  /// Decodes what was held until now.
  private func beginDecoding(limit: Int) -> HTTPFault? {
    guard case .holding(let format) = decoding, let held = buffer else { return nil }
    let decoder = listener.takeDecoder()
    decoder.begin(format)
    decoding = .decoding(decoder)
    buffer = BodyBuffer(budget: listener.shared.budget)
    defer { held.release() }
    return decode(held.content, limit: limit)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, limit: Int) -> HTTPFault? {
    guard case .decoding(let decoder) = decoding, let buffer, !bytes.isEmpty else { return nil }
    switch decoder.decode(bytes, into: buffer, limit: limit) {
    case .ok: return nil
    case .tooLarge: return .bodyTooLarge(limit: limit)
    case .undecodable: return .undecodableBody
    case .outOfMemory: return .overloaded
    }
  }

  /// Decodes what is left when all of a body is there; what is wrong with it.
  private func endDecoding(limit: Int) -> HTTPFault? {
    if decoding.isNone { return nil }
    defer { releaseDecoder() }
    if let fault = beginDecoding(limit: limit) { return fault }
    guard case .decoding(let decoder) = decoding, decoder.isComplete else { return .undecodableBody }
    return nil
  }

  func overloaded() { discard(.overloaded) }

  /// Lets go of what came of the body, and throws away the rest before saying so.
  private func discard(_ fault: HTTPFault) {
    guard let exchange else { return }
    releaseBody()
    plan = .discard(listener.handler.fault(fault, of: exchange), left: listener.configuration.maxDiscarded)
    discardingBegan()
  }

  /// The request is complete, or its answer may have come: called again and again until there is one.
  func bodyEnded() -> MHD_Result {
    guard let exchange else { return MHD_Result.NO }
    switch plan {
    case .collect(let limit):
      if let fault = endDecoding(limit: limit) {
        releaseBody()
        // (A bomb: whoever sends such is worth no memory for what may follow.)
        return answer(listener.handler.fault(fault, of: exchange), closing: fault == .bodyTooLarge(limit: limit))
      }
      plan = .done
      timer.bodyEnded()
      if let buffer, buffer.count > 0 {
        buffer.pad()
        exchange.setBody(buffer)
      }
      listener.handler.handle(exchange)
      if let response = exchange.takeAnswer() { return answer(response) }
      listener.unanswered.append(exchange)
      return MHD_Result.YES
    case .discard(let response, _): return answer(response)
    case .done:
      guard let response = exchange.takeAnswer() else { return MHD_Result.YES }
      return answer(response)
    case .drain, .none: return MHD_Result.NO
    }
  }

  func releaseBody() {
    releaseDecoder()
    buffer?.release()
  }

  func releaseDecoder() {
    if case .decoding(let decoder) = decoding { listener.giveDecoder(decoder) }
    decoding = .none
  }
}
