/// Texts that are wrong, and what is said about them.
extension BadConfiguration {
  static let yaml: [BadConfiguration] = [
    .init(
      "ingest:\n\tkeys: any",
      "2: not YAML: a tab is used as indentation; use spaces (found character that cannot start any token)"),
    .init(
      "ingest:\n  keys: any\n listen: []",
      "3: not YAML: the indentation does not fit the lines above; keys of one group begin in the same column (did not find expected key, while parsing a block mapping from line 1)"
    ),
    .init(
      "ingest\n  keys: any\nlog:\n",
      "2: not YAML: ': ' where no key can stand; check the indentation, and put quotes around a value that contains ': ' (mapping values are not allowed in this context)"
    ),
    .init(
      "upstream:\n  url: a: b",
      "2: not YAML: ': ' where no key can stand; check the indentation, and put quotes around a value that contains ': ' (mapping values are not allowed in this context)"
    ),
    .init(
      "log: { segment_size: 64MiB",
      "1: not YAML: a list or group in { } or [ ] is not closed (did not find expected ',' or '}')"),
    .init(
      "data_dir: 'x\n\n",
      "2: not YAML: a quote that is opened is never closed (found unexpected end of stream, while scanning a quoted scalar from line 1)"
    ),
    .init(
      "data_dir: @x",
      "1: not YAML: a value cannot begin with this sign; put quotes around it (found character that cannot start any token)"
    ),
    .init(
      "data_dir: \"\\q\"",
      "1: not YAML: in double quotes a backslash begins an escape; write \\\\ for a backslash, or use single quotes (found unknown escape character)"
    ),
    .init(
      "admin: { token: ${TOKEN} }",
      "1: not YAML: inside { } and [ ] a value with ${NAME} needs quotes: \"${NAME}\" (did not find expected ',' or '}')"
    ),
    .init(
      "a: &x 1\nb: *x",
      "1: YAML anchors (&name) are not taken: remove it, or put quotes around a value that begins with &"),
    .init(
      "data_dir: *x",
      "1: YAML aliases (*name) are not taken: write the value out, or put quotes around a value that begins with *"),
    .init(
      "data_dir: !!str x",
      "1: YAML tags (!name) are not taken: remove it, or put quotes around a value that begins with !"),
    .init(
      "data_dir: a\n---\ndata_dir: b",
      "2: a second document begins here; a configuration is one: remove '---'"),
    .init(
      "[a]: b",
      "1: a key must be a plain word, not a list or a group"),
    .init(
      "- a",
      "1: is a list, and should be a group of keys, each with its value"),
    .init(
      "data_dir",
      "1: is a single value, and should be a group of keys, each with its value"),
    .init(
      "data_dir: a\u{01}",
      "1: not YAML: a byte that is not UTF-8 text, or a control character; save the file as UTF-8 (control characters are not allowed)"
    ),
  ]

  static let keys: [BadConfiguration] = [
    .init(
      "data_dirr: a\nloging:\n  level: info",
      "1: data_dirr: there is no such key here; did you mean data_dir?",
      "2: loging: there is no such key here; did you mean logging?"),
    .init(
      "upstream:\n  retry: { intial: 1s, foo: 2 }",
      "2: upstream.retry.intial: there is no such key here; did you mean initial?",
      "2: upstream.retry.foo: there is no such key here; the keys are initial, jitter, max, max_attempts"),
    .init(
      "a b: 1",
      "1: ?: there is no such key here; the keys are admin, apps, data_dir, dead_letters, ingest, log, logging, positions, shutdown, sinks, upstream"
    ),
    .init(
      "data_dir: a\nlog:\n  durability: os\n  durability: fsync\ndata_dir: b",
      "4: log.durability: stands twice; the first is on line 3: remove one",
      "5: data_dir: stands twice; the first is on line 1: remove one"),
    .init(
      "logging: info",
      "1: logging: is a single value, and should be a group of keys, each with its value"),
    .init(
      "logging: [level]",
      "1: logging: is a list, and should be a group of keys, each with its value"),
    .init(
      "sinks: { name: a }",
      "1: sinks: is a group of keys, and should be a list of groups of keys, each after a \"- \""),
    .init(
      "sinks: [a, ]\napps:\n  -\n  - ios",
      "1: sinks[0]: is a single value, and should be a group of keys, each with its value",
      "3: apps[0]: is empty; remove the \"-\" or give it keys",
      "4: apps[1]: is a single value, and should be a group of keys, each with its value"),
    .init(
      "data_dir: [a]\nadmin: { listen: [127.0.0.1:1], hosts: { a: b } }",
      "1: data_dir: is a list, and should be a path, relative to the configuration file or absolute",
      "2: admin.listen: is a list, and should be host:port, [v6]:port or unix:/path",
      "2: admin.hosts: is a group of keys, and should be a list of values, each after a \"- \""),
    .init(
      "upstream:\n  linger:\n  timeout: ~\n  ca_file: ~",
      "2: upstream.linger: has no value; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m, or remove the line for the default",
      "3: upstream.timeout: has no value; it should be a duration from 100ms to 1h, in ms, s, m, h or d, such as 90s or 1h30m, or remove the line for the default"
    ),
    .init(
      "ingest: { listen: [] }",
      "1: ingest.listen: is empty; name at least one address"),
  ]

  static let scalars: [BadConfiguration] = [
    .init(
      "log: { segment_size: 64 }",
      "1: log.segment_size: \"64\" has no unit; did you mean 64B? It should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { segment_size: 64mb }",
      "1: log.segment_size: \"64mb\" has an unknown unit; did you mean 64MB? It should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { segment_size: 6.5MiB }",
      "1: log.segment_size: \"6.5MiB\" is no whole number; use a smaller unit; it should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { segment_size: 1MiB }",
      "1: log.segment_size: \"1MiB\" is less than the least, 2MiB; it should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { segment_size: 2GiB }",
      "1: log.segment_size: \"2GiB\" is more than the most, 1GiB; it should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { min_free_disk: -1B }",
      "1: log.min_free_disk: \"-1B\" is no size; it should be a size from 0 to 1048576GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { min_free_disk: 99999999999999999999GB }",
      "1: log.min_free_disk: \"99999999999999999999GB\" is too large; it should be a size from 0 to 1048576GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { min_free_disk: 99999999999GiB }",
      "1: log.min_free_disk: \"99999999999GiB\" is too large; it should be a size from 0 to 1048576GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "log: { min_free_disk: 4 parsecs }",
      "1: log.min_free_disk: \"4 parsecs\" has an unknown unit; it should be a size from 0 to 1048576GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "upstream: { linger: 5 }",
      "1: upstream.linger: \"5\" has no unit; did you mean 5s? It should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 5 minutes }",
      "1: upstream.linger: \"5 minutes\" has an unknown unit; did you mean 5m? It should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 1.5s }",
      "1: upstream.linger: \"1.5s\" is no whole number; use a smaller unit; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 5m1h }",
      "1: upstream.linger: \"5m1h\" has its units in the wrong order; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 2h }",
      "1: upstream.linger: \"2h\" is more than the most, 1h; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { timeout: 0s }",
      "1: upstream.timeout: \"0s\" is less than the least, 100ms; it should be a duration from 100ms to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: soon }",
      "1: upstream.linger: \"soon\" is no duration; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: \"\" }",
      "1: upstream.linger: \"\" is empty; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 99999999999999d }",
      "1: upstream.linger: \"99999999999999d\" is too long; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { linger: 1h 30 }",
      "1: upstream.linger: \"1h 30\" has no unit; it should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "upstream: { retry: { jitter: 0.1 } }",
      "1: upstream.retry.jitter: \"0.1\" has no %; did you mean 10%? It should be a share such as 10%, from 0% to 100%"),
    .init(
      "upstream: { retry: { jitter: 110% } }",
      "1: upstream.retry.jitter: \"110%\" is more than the most, 100%; it should be a share such as 10%, from 0% to 100%"
    ),
    .init(
      "upstream: { retry: { jitter: a lot% } }",
      "1: upstream.retry.jitter: \"a lot%\" is no share; it should be a share such as 10%, from 0% to 100%"),
    .init(
      "upstream: { concurrency: 9, on_refused_key: drop, order: newest }",
      "1: upstream.concurrency: \"9\" is more than the most, 8; it should be a whole number from 1 to 8",
      "1: upstream.on_refused_key: \"drop\" is not known; it should be hold or dead_letter",
      "1: upstream.order: \"newest\" is not known; it should be arrival or oldest_first"),
    .init(
      "upstream: { rate_limit: { margin: 95% } }",
      "1: upstream.rate_limit.margin: \"95%\" is more than the most, 90%; it should be a share such as 10%, from 0% to 90%"
    ),
    .init(
      "upstream: { max_batch_events: 101 }",
      "1: upstream.max_batch_events: \"101\" is more than the most, 100; it should be a whole number from 1 to 100"),
    .init(
      "upstream: { max_batch_events: 0 }",
      "1: upstream.max_batch_events: \"0\" is less than the least, 1; it should be a whole number from 1 to 100"),
    .init(
      "upstream: { max_batch_events: 010 }",
      "1: upstream.max_batch_events: \"010\" is no whole number; it should be a whole number from 1 to 100"),
    .init(
      "ingest: { max_connections: 1_000 }",
      "1: ingest.max_connections: \"1_000\" is no whole number; did you mean 1000? It should be a whole number from 1 to 100000"
    ),
    .init(
      "ingest: { max_connections: 99999999999999999999 }",
      "1: ingest.max_connections: \"99999999999999999999\" is too large; it should be a whole number from 1 to 100000"),
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, default: yes }]",
      "1: apps[0].default: \"yes\" is neither true nor false; did you mean true? It should be true or false"),
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, default: 2 }]",
      "1: apps[0].default: \"2\" is neither true nor false; it should be true or false"),
    .init(
      "log: { durability: fsnyc }",
      "1: log.durability: \"fsnyc\" is not known; did you mean fsync? It should be fsync or os"),
    .init(
      "logging: { format: xml }",
      "1: logging.format: \"xml\" is not known; it should be text or json"),
    .init(
      "data_dir: ~/data\nupstream: { ca_file: \"\" }",
      "1: data_dir: \"~/data\" begins with ~, which is not expanded; did you mean ${HOME}/data? It should be a path, relative to the configuration file or absolute",
      "2: upstream.ca_file: \"\" is empty; it should be a path, relative to the configuration file or absolute"),
    .init(
      "upstream: { url: ftp://host }",
      "1: upstream.url: the value is neither http nor https; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: api.example.com }",
      "1: upstream.url: the value has no http:// or https:// before the host; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: https://u:p@host }",
      "1: upstream.url: the value holds a user or password before an @; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: https://host?a }",
      "1: upstream.url: the value holds a query (?) or a fragment (#); it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: https:// }",
      "1: upstream.url: the value has no host; it should be the upstream's base, such as https://api.example.com"),
    .init(
      "upstream: { url: https://host:0 }",
      "1: upstream.url: the value has no port from 1 to 65535; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: https://host/v1/events }",
      "1: upstream.url: the value names a single call; the relay adds /v1/events and /v1/identify itself; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: https://1.2.3 }",
      "1: upstream.url: the value has neither a name nor an address as its host; it should be the upstream's base, such as https://api.example.com"
    ),
  ]
}
