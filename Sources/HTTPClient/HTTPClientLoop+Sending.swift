extension HTTPClientLoop {
  /// Sends a request and waits for the whole answer, whatever its status.
  ///
  /// A request that went out on an open connection which the other side had just closed is sent once more on a new one, unnoticed. Nothing else is
  /// tried again. When the task is cancelled, the transfer is broken off: a failure of kind `other`.
  ///
  /// - Parameter request: its body mustn't be touched before the answer is there.
  public nonisolated(nonsending) func send(
    _ request: HTTPClientRequest
  ) async -> Result<HTTPAnswer, TransportFailure> {
    let transfer = Transfer(request)
    return await suspend { continuation in
      transfer.continuation = continuation
      post(.send(transfer))
    } onCancel: {
      transfer.isCancelled.store(true, ordering: .releasing)
      post(.cancel(transfer))
    }
  }
}
