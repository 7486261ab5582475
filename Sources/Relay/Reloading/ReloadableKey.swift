import Configuration

/// One key of the configuration: whether a running relay can take another value of it, and by what part.
struct ReloadableKey: Sendable {
  /// As in the file, `upstream.linger`.
  let name: String
  /// What takes it into use; nil: it needs a restart.
  let step: ReloadPlan.Step?
  let differs: @Sendable (RelayConfiguration, RelayConfiguration) -> Bool
  let take: @Sendable (_ new: RelayConfiguration, _ into: inout RelayConfiguration) -> Void

  init<Value: Equatable & Sendable>(
    _ name: String, _ path: any WritableKeyPath<RelayConfiguration, Value> & Sendable, _ step: ReloadPlan.Step?
  ) {
    self.name = name
    self.step = step
    differs = { $0[keyPath: path] != $1[keyPath: path] }
    take = { $1[keyPath: path] = $0[keyPath: path] }
  }

  /// Every key but those of sinks, which are compared by name. The page <doc:Reloading> has the same list.
  static let all: [ReloadableKey] = [
    .init("data_dir", \.dataDirectory, nil),
    .init("ingest.listen", \.ingest.listen, nil),
    .init("ingest.keys", \.ingest.keys, .apps),
    .init("ingest.max_connections", \.ingest.maxConnections, .ingest),
    .init("ingest.max_connections_per_address", \.ingest.maxConnectionsPerAddress, .ingest),
    .init("ingest.max_body_memory", \.ingest.maxBodyMemory, .ingest),
    .init("ingest.header_timeout", \.ingest.headerTimeout, .ingest),
    .init("ingest.body_timeout", \.ingest.bodyTimeout, .ingest),
    .init("ingest.idle_timeout", \.ingest.idleTimeout, .ingest),
    .init("ingest.max_events_per_minute", \.ingest.maxEventsPerMinute, .ingest),
    .init("ingest.dedupe.window", \.ingest.dedupe.window, .ingest),
    .init("ingest.dedupe.max_ids", \.ingest.dedupe.maxIDs, nil),
    .init("ingest.tls", \.ingest.tls, .ingest),
    .init("admin.listen", \.admin.listen, nil),
    .init("admin.token", \.admin.token, .admin),
    .init("admin.hosts", \.admin.hosts, .admin),
    .init("admin.tls", \.admin.tls, .admin),
    .init("apps", \.apps, .apps),
    .init("log.durability", \.log.durability, nil),
    .init("log.segment_size", \.log.segmentSize, nil),
    .init("log.max_size", \.log.maxSize, .log),
    .init("log.on_full", \.log.onFull, .log),
    .init("log.retain", \.log.retain, .log),
    .init("log.min_free_disk", \.log.minFreeDisk, .log),
    .init("upstream.url", \.upstream.url, .upstream),
    .init("upstream.linger", \.upstream.linger, .upstream),
    .init("upstream.max_batch_events", \.upstream.maxBatchEvents, .upstream),
    .init("upstream.max_batch_bytes", \.upstream.maxBatchBytes, .upstream),
    .init("upstream.timeout", \.upstream.timeout, .upstream),
    .init("upstream.connect_timeout", \.upstream.connectTimeout, .upstream),
    .init("upstream.ca_file", \.upstream.caFile, .upstream),
    .init("upstream.retry", \.upstream.retry, .upstream),
    .init("upstream.rate_limit", \.upstream.rateLimit, .upstream),
    .init("upstream.concurrency", \.upstream.concurrency, .upstream),
    .init("upstream.on_refused_key", \.upstream.onRefusedKey, .upstream),
    .init("upstream.on_expired", \.upstream.onExpired, .upstream),
    .init("upstream.order", \.upstream.order, .upstream),
    .init("dead_letters.max_size", \.deadLetters.maxSize, .deadLetters),
    .init("dead_letters.retention", \.deadLetters.retention, .deadLetters),
    .init("positions.keep", \.positions.keep, .positions),
    .init("shutdown.grace", \.shutdownGrace, .shutdown),
    .init("logging.level", \.logging.level, .logging),
    .init("logging.format", \.logging.format, .logging),
  ]
}
