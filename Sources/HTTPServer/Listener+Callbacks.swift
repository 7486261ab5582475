import CMicrohttpd
import CTLS

extension Listener {
  /// Bytes of a connection's pool. Half of it is the read buffer; all of it is cleared after each request, so that more
  /// costs every request, and less costs large bodies more reads. Also bounds a request's head. Over 32 KiB the library
  /// maps it, so that the system gets it back when the connection ends.
  static let poolBytes = 36 * 1024
  static let readAheadBytes = 4 * 1024
  static let connectionsMax = 100_000

  /// What the library is given to call. The context of all is the listener, which outlives its daemon.
  func callbacks() -> mhd_options {
    var options = mhd_options()
    // (Above any limit that may be set later: how many there may be isn't the library's to say.)
    options.connection_limit = UInt32(clamping: max(configuration.maxConnections, Self.connectionsMax) + 64)
    options.memory_limit = Self.poolBytes
    options.memory_increment = Self.readAheadBytes
    if identity != nil { options.tls_priorities = tls_priorities }
    options.context = Unmanaged.passUnretained(self).toOpaque()
    options.target = { _, uri, handle in
      guard let connection = connection(mhd_socket_context(handle)) else { return nil }
      connection.headBegan(uri)
      return Unmanaged.passUnretained(connection).toOpaque()
    }
    options.handle = { _, _, _, method, version, data, length, request in
      guard let connection = connection(request?.pointee), let length else { return MHD_Result.NO }
      if connection.exchange == nil {
        guard let method, let version else { return MHD_Result.NO }
        return connection.headEnded(method: method, version: version)
      }
      guard length.pointee > 0 else { return connection.bodyEnded() }
      defer { length.pointee = 0 }
      return connection.received(UnsafeRawBufferPointer(start: data, count: length.pointee))
    }
    options.completed = { _, _, request, _ in connection(request?.pointee)?.requestEnded() }
    options.connection = { context, handle, slot, code in
      guard let slot, let handle else { return }
      if code == .CONNECTION_NOTIFY_STARTED {
        let new = Connection(handle: handle, listener: listener(context))
        slot.pointee = Unmanaged.passRetained(new).toOpaque()
        listener(context).opened(new)
      } else if let pointer = slot.pointee {
        slot.pointee = nil
        listener(context).closed(Unmanaged<Connection>.fromOpaque(pointer).takeRetainedValue())
      }
    }
    options.log = { context, text in
      guard let text else { return }
      listener(context).shared.logger.debug("the HTTP library says", ["text": .text(String(cString: text))])
    }
    return options
  }
}

private func listener(_ context: UnsafeMutableRawPointer?) -> Listener {
  Unmanaged<Listener>.fromOpaque(context!).takeUnretainedValue()
}

private func connection(_ context: UnsafeMutableRawPointer?) -> Connection? {
  context.map { Unmanaged<Connection>.fromOpaque($0).takeUnretainedValue() }
}
