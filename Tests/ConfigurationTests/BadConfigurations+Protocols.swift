/// Texts about what senders may do, and about apps' protocols, their own upstreams, origins and deny lists.
extension BadConfiguration {
  static let senders: [BadConfiguration] = [
    .init(
      "ingest: { max_events_per_minute: 99 }",
      "1: ingest.max_events_per_minute: 99 is less than the 100 events one request may hold; make it 100 or more, or 0 for no limit"
    ),
    .init(
      "ingest:\n  dedupe: { window: 8d, max_ids: 10, windw: 1h }",
      "2: ingest.dedupe.window: \"8d\" is more than the most, 7d; it should be a duration from 0s to 7d, in ms, s, m, h or d, such as 90s or 1h30m",
      "2: ingest.dedupe.max_ids: \"10\" is less than the least, 1000; it should be a whole number from 1000 to 50000000",
      "2: ingest.dedupe.windw: there is no such key here; the keys are max_ids, window"),
    .init(
      "sinks: [{ name: dedupe, type: ndjson, path: a }]",
      "1: sinks[0].name: \"dedupe\" is taken: the memory of event ids keeps its place in the log under it; it should be a name of 1 to 64 letters, digits, _ and -"
    ),
    .init(
      "sinks: [{ name: suppressed, type: ndjson, path: a }]",
      "1: sinks[0].name: \"suppressed\" is taken: the ledger calls the events that deny lists keep out so; it should be a name of 1 to 64 letters, digits, _ and -"
    ),
  ]

  static let protocols: [BadConfiguration] = [
    .init(
      "apps: [{ name: a, protocol: datalir, write_key: x, origins: [y], upstream: { foo: 1 } }]",
      "1: apps[0].protocol: \"datalir\" is not known; did you mean datalyr? It should be app-store-operator or datalyr or voidhash"
    ),
    .init(
      "apps: [{ name: a, protocol: segment }, { name: b, protocol: }]",
      "1: apps[0].protocol: \"segment\" is not known; it should be app-store-operator or datalyr or voidhash",
      "1: apps[1].protocol: has no value; it should be app-store-operator or datalyr or voidhash, or remove the line for the default"
    ),
    .init(
      "apps:\n  - { name: a, write_key: aso_wk_1, default: true }\n"
        + "  - { name: b, protocol: datalyr, write_key: dk_1, default: true }\n"
        + "  - { name: c, protocol: datalyr, write_key: dk_2, default: true }",
      "4: apps[2].default: an app is the default of datalyr already, on line 3; one at most can be"),
    .init(
      "apps:\n  - { name: a, write_key: x1 }\n  - { name: b, protocol: datalyr, write_key: x1 }",
      "3: apps[1].write_key: another app has the same key, on line 2; a key belongs to one app"),
  ]

  static let ownUpstreams: [BadConfiguration] = [
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, upstream: { order: arrival, urls: x } }]",
      "1: apps[0].upstream.order: says which app sends first, and so is for all of them: set it in the common upstream section",
      "1: apps[0].upstream.urls: there is no such key here; did you mean url?"),
    .init(
      "apps: [{ name: a, protocol: datalyr, upstream: [x] }, { name: b, protocol: voidhash, upstream: x }]",
      "1: apps[0].upstream: is a list, and should be a group of keys, each with its value",
      "1: apps[1].upstream: is a single value, and should be a group of keys, each with its value"),
    .init(
      "apps: [{ name: a, protocol: datalyr, write_key: dk_1, upstream: { rate_limit: "
        + "{ events_per_minute: 1, per_install_per_minute: 2, requests_per_minute: x }, on_expired: send, max_batch_events: 101 } }]",
      "1: apps[0].upstream.max_batch_events: \"101\" is more than the most, 100; it should be a whole number from 1 to 100",
      "1: apps[0].upstream.rate_limit.requests_per_minute: \"x\" is no whole number; it should be a whole number from 0 to 100000000",
      "1: apps[0].upstream.rate_limit.events_per_minute: Datalyr counts requests, not events; set requests_per_minute",
      "1: apps[0].upstream.rate_limit.per_install_per_minute: Datalyr has no limit of single installs; remove it",
      "1: apps[0].upstream.on_expired: Datalyr takes events of any age as they are; remove it"),
    .init(
      "upstream: { rate_limit: { requests_per_minute: 1 } }",
      "1: upstream.rate_limit.requests_per_minute: the App Store Operator Events API counts events, not requests; set events_per_minute"
    ),
    .init(
      "apps: [{ name: a, protocol: voidhash, write_key: vh_pk_1, upstream: { concurrency: 2, max_batch_bytes: 2MiB, "
        + "rate_limit: { requests_per_minute: 1 } } }]",
      "1: apps[0].upstream.max_batch_bytes: \"2MiB\" is more than the most, 1MiB; it should be a size from 16KiB to 1MiB, in B, KiB, MiB, GiB, kB, MB or GB",
      "1: apps[0].upstream.rate_limit.requests_per_minute: Voidhash counts events, not requests; set events_per_minute",
      "1: apps[0].upstream.concurrency: \"2\" is more than the most, 1; it should be a whole number from 1 to 1"),
    .init(
      "apps: [{ name: a, protocol: voidhash, write_key: vh_pk_1, upstream: { url: https://h/i/v1/batch } }]",
      "1: apps[0].upstream.url: the value names a single call; the relay adds /i/v1/batch and /i/v1/capture itself; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "apps: [{ name: a, protocol: datalyr, write_key: dk_1, upstream: { retry: { initial: 31s } } }]",
      "1: apps[0].upstream.retry.initial: initial, 31s, is longer than max, 30s; make one fit the other"),
    .init(
      "upstream: { retry: { max_attempts: 1000001 } }",
      "1: upstream.retry.max_attempts: \"1000001\" is more than the most, 1000000; it should be a whole number from 0 to 1000000"
    ),
    .init(
      "upstream:\n  retry: { max_atempts: -1 }",
      "2: upstream.retry.max_atempts: there is no such key here; did you mean max_attempts?"),
  ]

  static let origins: [BadConfiguration] = [
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, origins: [https://a.example] }]",
      "1: apps[0].origins: the App Store Operator Events API has no route to which web pages post (datalyr has one); remove it"
    ),
    .init(
      "apps:\n  - name: a\n    protocol: datalyr\n    write_key: dk_1\n    origins: [a.example, https://a.example/, "
        + "https://a.example/x?y, ftp://a.example, \"https://*.example\", https://, https://u:p@h, https://h:0, \"a b\", \"null\", \"*.a.example\"]",
      "5: apps[0].origins[0]: \"a.example\" has no https:// before the host; did you mean https://a.example? It should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[1]: \"https://a.example/\" has something behind the host and the port, which no origin has; did you mean https://a.example? It should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[2]: \"https://a.example/x?y\" has something behind the host and the port, which no origin has; did you mean https://a.example? It should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[3]: \"ftp://a.example\" is neither http nor https; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[4]: \"https://*.example\" has a * in its host; hosts are written out, or * alone means all; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[5]: \"https://\" has no host; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[6]: \"https://u:p@h\" holds a user or password before an @; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[7]: \"https://h:0\" has no port from 1 to 65535; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[8]: \"a b\" holds a space or another character that no origin has; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[9]: \"null\" has no https:// before the host; it should be an origin such as https://example.com or http://localhost:3000, or *",
      "5: apps[0].origins[10]: \"*.a.example\" has no https:// before the host; it should be an origin such as https://example.com or http://localhost:3000, or *"
    ),
  ]

  static let consent: [BadConfiguration] = [
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, consent: { deny_ids_file: none, deny_ids: x } }]",
      "1: apps[0].consent.deny_ids_file: \"/etc/er/none\": there is no such file; check the path",
      "1: apps[0].consent.deny_ids: there is no such key here; the keys are deny_ids_file"),
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, consent: none }]",
      "1: apps[0].consent: is a single value, and should be a group of keys, each with its value"),
  ]
}
