/// Texts whose values are each right or wrong in a group: addresses, apps, sinks, keys to come.
extension BadConfiguration {
  static let addresses: [BadConfiguration] = [
    .init(
      "ingest: { listen: 8787 }",
      "1: ingest.listen: \"8787\" has no host; did you mean 127.0.0.1:8787? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: localhost }",
      "1: ingest.listen: \"localhost\" has no port; did you mean localhost:8787? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: \":8787\" }",
      "1: ingest.listen: \":8787\" has no host; did you mean 0.0.0.0:8787, or [::]:8787? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: \"::1:8787\" }",
      "1: ingest.listen: \"::1:8787\" is an IPv6 address without [ ]; did you mean [::1]:8787? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: \"[::x]:8787\" }",
      "1: ingest.listen: \"[::x]:8787\" holds no IPv6 address; it should be host:port, [v6]:port or unix:/path"),
    .init(
      "ingest: { listen: 127.0.0.300:1 }",
      "1: ingest.listen: \"127.0.0.300:1\" holds neither an address nor a name; it should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: host:65536 }",
      "1: ingest.listen: \"host:65536\" has no port from 0 to 65535; it should be host:port, [v6]:port or unix:/path"),
    .init(
      "ingest: { listen: \"http://host:1/\" }",
      "1: ingest.listen: \"http://host:1/\" is a URL; did you mean host:1? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: \"unix:\" }",
      "1: ingest.listen: \"unix:\" has no path; it should be host:port, [v6]:port or unix:/path"),
    .init(
      "ingest: { listen: unix:/\(String(repeating: "a", count: 107)) }",
      "1: ingest.listen: \"unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" makes a path of 108 bytes, more than a unix socket's 107; it should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest:\n  listen:\n    - 127.0.0.1:1\n    - 0.0.0.0:1",
      "4: ingest.listen: 0.0.0.0:1 is taken by 127.0.0.1:1 on line 3; each listener needs an address of its own"),
    .init(
      "ingest:\n  listen:\n    - unix:/a\n    - unix:/./a\n    - \"\"",
      "4: ingest.listen: unix:/a is taken by unix:/a on line 3; each listener needs an address of its own",
      "5: ingest.listen[2]: \"\" has no host; it should be host:port, [v6]:port or unix:/path"),
    .init(
      "admin: { listen: 127.0.0.1:8787 }",
      "1: admin.listen: 127.0.0.1:8787 is taken by 127.0.0.1:8787 of ingest.listen; each listener needs an address of its own"
    ),
    .init(
      "admin:\n  listen: 0.0.0.0:8788",
      "2: admin.listen: 0.0.0.0:8788 is reached from other machines, and there is neither admin.token nor admin.tls.client_ca; set one, or listen on 127.0.0.1"
    ),
    .init(
      "admin: { listen: 0.0.0.0:8788, token: ~ }",
      "1: admin.listen: 0.0.0.0:8788 is reached from other machines, and there is neither admin.token nor admin.tls.client_ca; set one, or listen on 127.0.0.1"
    ),
    .init(
      "admin: { hosts: [http://a, a:b] }",
      "1: admin.hosts[0]: \"http://a\" holds a /, which no host does; it should be a host name or address, with or without :port",
      "1: admin.hosts[1]: \"a:b\" has no port from 1 to 65535; it should be a host name or address, with or without :port"
    ),
  ]

  static let across: [BadConfiguration] = [
    .init(
      "log:\n  segment_size: 64MiB\n  max_size: 100MiB",
      "3: log.max_size: max_size, 100MiB, holds fewer than three segments of 64MiB; make it 192MiB or more, or segment_size smaller"
    ),
    .init(
      "log: { segment_size: 1GiB, max_size: 2GiB }",
      "1: log.max_size: max_size, 2GiB, holds fewer than three segments of 1GiB; make it 3GiB or more, or segment_size smaller"
    ),
    .init(
      "upstream:\n  retry:\n    initial: 20m",
      "3: upstream.retry.initial: initial, 20m, is longer than max, 10m; make one fit the other"),
    .init(
      "upstream: { retry: { max: 1s } }",
      "1: upstream.retry.max: initial, 30s, is longer than max, 1s; make one fit the other"),
    .init(
      "# all of them\nlog: { durability: x }\nfoo: 1\nupstream:\n  url: x\n  linger: 1\n",
      "2: log.durability: \"x\" is not known; it should be fsync or os",
      "3: foo: there is no such key here; the keys are admin, apps, data_dir, dead_letters, ingest, log, logging, positions, shutdown, sinks, upstream",
      "5: upstream.url: the value has no http:// or https:// before the host; it should be the upstream's base, such as https://api.example.com",
      "6: upstream.linger: \"1\" has no unit; did you mean 1s? It should be a duration from 0s to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
  ]

  static let apps: [BadConfiguration] = [
    .init(
      "apps:\n  - write_key: aso_wk_1",
      "2: apps[0].name: is missing; every app needs a name of 1 to 64 letters, digits, _ and -"),
    .init(
      "apps: [{ name: key-a, write_key: aso_wk_1 }]",
      "1: apps[0].name: \"key-a\" begins with key-, as the names do that the relay makes for keys of no app; it should be a name of 1 to 64 letters, digits, _ and -"
    ),
    .init(
      "apps: [{ name: other, write_key: aso_wk_1 }, { name: a b, write_key: aso_wk_2 }]",
      "1: apps[0].name: \"other\" is taken: the metrics call the keys of no app so; it should be a name of 1 to 64 letters, digits, _ and -",
      "1: apps[1].name: \"a b\" is no name; it should be a name of 1 to 64 letters, digits, _ and -"),
    .init(
      "apps:\n  - { name: a, write_key: aso_wk_1 }\n  - { name: a, write_key: aso_wk_2 }",
      "3: apps[1].name: \"a\" is the name of the app on line 2 too; each needs its own"),
    .init(
      "apps:\n  - { name: a, write_key: aso_wk_1, default: true }\n  - { name: b, write_key: aso_wk_2, default: true }",
      "3: apps[1].default: an app is the default of app-store-operator already, on line 2; one at most can be"),
    .init(
      "apps:\n  - { name: a, write_key: aso_wk_1 }\n  - { name: b, write_key: aso_wk_2, accept_keys: [x, aso_wk_1] }",
      "3: apps[1].accept_keys: another app has the same key, on line 2; a key belongs to one app"),
    .init(
      "apps: [{ name: a, write_key: aso_wk_1, write_key_file: b }]",
      "1: apps[0].write_key_file: stands beside write_key; an app has one of them: remove the other"),
    .init(
      "apps: [{ name: a, write_key_file: b }]",
      "1: apps[0].write_key_file: \"/etc/er/b\": there is no such file; check the path"),
    .init(
      "apps: [{ name: a, write_key: }]",
      "1: apps[0].write_key: has no value; it should be a write key of 1 to 512 visible ASCII characters, or remove the line for the default"
    ),
    .init(
      "apps: [{ name: a, default: true }]",
      "1: apps[0].default: an app for requests without a key needs a write_key (or write_key_file) to send them with"),
    .init(
      "apps: [{ name: a, accept_keys: [x, y] }]",
      "1: apps[0].accept_keys: there are several, and no write_key: which one the upstream gets would be left open; add write_key"
    ),
    .init(
      "apps: [{ name: a, write_key: aso_wk_ü }]",
      "1: apps[0].write_key: the value holds a space, a line break or another character that no key has; it should be a write key of 1 to 512 visible ASCII characters"
    ),
  ]

  static let sinks: [BadConfiguration] = [
    .init(
      "sinks: [{ name: a, type: ndjson, path: x, max_behind: 1kB, sample: 0.1, only: { kinds: [all], name: y } }]",
      "1: sinks[0].max_behind: \"1kB\" is less than the least, 64KiB; it should be a size from 64KiB to 1048576GiB, in B, KiB, MiB, GiB, kB, MB or GB",
      "1: sinks[0].sample: \"0.1\" has no %; did you mean 10%? It should be a share such as 10%, from 0% to 100%",
      "1: sinks[0].only.kinds[0]: \"all\" is not known; it should be event or identify",
      "1: sinks[0].only.name: there is no such key here; did you mean names?"),
    .init(
      "sinks: [{ name: a, type: ndjson, path: x, only: { kinds: identify, names: [y], apps: [\"a b\"] } }]",
      "1: sinks[0].only.apps[0]: \"a b\" is no name; it should be a name of 1 to 64 letters, digits, _ and -",
      "1: sinks[0].only.names: identify calls have no name, so that nothing would be left; remove names, or kinds"),
    .init(
      "sinks:\n  - {}",
      "2: sinks[0].name: is missing; every sink needs a name of 1 to 64 letters, digits, _ and -",
      "2: sinks[0].type: is missing; it should be ndjson or archive or webhook"),
    .init(
      "sinks: [{ type: ndjson }]",
      "1: sinks[0].name: is missing; every sink needs a name of 1 to 64 letters, digits, _ and -",
      "1: sinks[0].path: is missing; it should be a file's path with the fields %Y, %m, %d, %H, %M and %app, such as ./data/events/%Y/%m/%d/%H.ndjson"
    ),
    .init(
      "sinks: [{ name: upstream, type: ndjson, path: a }]",
      "1: sinks[0].name: \"upstream\" is taken: the destination of the upstream is called so; it should be a name of 1 to 64 letters, digits, _ and -"
    ),
    .init(
      "sinks: [{ name: a, type: csv }]",
      "1: sinks[0].type: \"csv\" is not known; it should be ndjson or archive or webhook"),
    .init(
      "sinks: [{ name: a, type: ndjson, path: \"%Y/%S\" }]",
      "1: sinks[0].path: \"%Y/%S\" holds the unknown field %S; it should be a file's path with the fields %Y, %m, %d, %H, %M and %app, such as ./data/events/%Y/%m/%d/%H.ndjson"
    ),
    .init(
      "sinks: [{ name: a, type: ndjson, path: a/% }]",
      "1: sinks[0].path: \"a/%\" holds the unknown field %; it should be a file's path with the fields %Y, %m, %d, %H, %M and %app, such as ./data/events/%Y/%m/%d/%H.ndjson"
    ),
    .init(
      "sinks: [{ name: a, type: ndjson, path: a/ }]",
      "1: sinks[0].path: \"a/\" names no file; it should be a file's path with the fields %Y, %m, %d, %H, %M and %app, such as ./data/events/%Y/%m/%d/%H.ndjson"
    ),
    .init(
      "sinks:\n  - { name: a, type: ndjson, path: x }\n  - { name: a, type: ndjson, path: ./x }",
      "3: sinks[1].name: \"a\" is the name of the sink on line 2 too; each needs its own",
      "3: sinks[1].path: the sink on line 2 writes to the same path; each needs its own"),
    .init(
      "sinks: [{ name: a, type: ndjson, path: data/dead-letters/x }]",
      "1: sinks[0].path: lies in data_dir/dead-letters, which is the relay's own; choose another directory"),
    .init(
      "sinks: [{ name: a, type: archive }]",
      "1: sinks[0].path: is missing; it should be a directory of its own, such as ./data/archive"),
    .init(
      "sinks: [{ name: a, type: archive, path: \"a/%Y\" }]",
      "1: sinks[0].path: \"a/%Y\" holds a %: an archive is one directory, whose files bear the times in their names; it should be a directory of its own, such as ./data/archive"
    ),
    .init(
      "sinks:\n  - { name: a, type: archive, path: data }\n  - { name: b, type: archive, path: data/log/x }",
      "2: sinks[0].path: holds data_dir; it should be a directory of its own",
      "3: sinks[1].path: the sink on line 2 writes to the same path; each needs its own",
      "3: sinks[1].path: lies in data_dir/log, which is the relay's own; choose another directory"),
    .init(
      "sinks: [{ name: a, type: ndjson, path: x, rotate: { size: 1B, every: 0s }, retention: 1s }]",
      "1: sinks[0].rotate.size: \"1B\" is less than the least, 1KiB; it should be a size from 1KiB to 1024GiB, in B, KiB, MiB, GiB, kB, MB or GB",
      "1: sinks[0].rotate.every: \"0s\" is less than the least, 1s; it should be a duration from 1s to 31d, in ms, s, m, h or d, such as 90s or 1h30m",
      "1: sinks[0].retention: \"1s\" is less than the least, 1m; it should be a duration from 1m to 36500d, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
  ]

  static let later: [BadConfiguration] = [
    .init(
      "privacy: {}",
      "1: privacy: comes with a later version of event-relay; remove it")
  ]

  static let more: [BadConfiguration] = [
    .init(
      "positions: { keep: 30, keeps: 1d }",
      "1: positions.keep: \"30\" has no unit; did you mean 30s? It should be a duration from 0s to 36500d, in ms, s, m, h or d, such as 90s or 1h30m",
      "1: positions.keeps: there is no such key here; the keys are keep"),
    .init(
      "log: { segment_size: 4, max_size: 100MiB }",
      "1: log.segment_size: \"4\" has no unit; did you mean 4B? It should be a size from 2MiB to 1GiB, in B, KiB, MiB, GiB, kB, MB or GB"
    ),
    .init(
      "upstream: { retry: { initial: 1, max: 1s } }",
      "1: upstream.retry.initial: \"1\" has no unit; did you mean 1s? It should be a duration from 1ms to 1h, in ms, s, m, h or d, such as 90s or 1h30m"
    ),
    .init(
      "shutdown: { grace: 11m }\nadmin: { hosts: [a b] }",
      "1: shutdown.grace: \"11m\" is more than the most, 10m; it should be a duration from 0s to 10m, in ms, s, m, h or d, such as 90s or 1h30m",
      "2: admin.hosts[0]: \"a b\" is neither a name nor an address; it should be a host name or address, with or without :port"
    ),
    .init(
      "ingest: { listen: [\"[::]:1\", localhost:1] }",
      "1: ingest.listen: localhost:1 is taken by [::]:1 on line 1; each listener needs an address of its own"),
    .init(
      "ingest: { listen: unix:~/in.sock }",
      "1: ingest.listen: \"unix:~/in.sock\" begins with ~, which is not expanded; it should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "ingest: { listen: \"fe80::1%eth0\" }",
      "1: ingest.listen: \"fe80::1%eth0\" has no port from 0 to 65535; it should be host:port, [v6]:port or unix:/path"),
    .init(
      "ingest: { listen: \"*:80\" }",
      "1: ingest.listen: \"*:80\" has no host; did you mean 0.0.0.0:80, or [::]:80? It should be host:port, [v6]:port or unix:/path"
    ),
    .init(
      "upstream: { url: \"https://[::1\" }",
      "1: upstream.url: the value has neither a name nor an address as its host; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: \"https://[::1]x\" }",
      "1: upstream.url: the value has something other than a port after ]; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "upstream: { url: \"https://a b\" }",
      "1: upstream.url: the value holds a space or another character that no URL has; it should be the upstream's base, such as https://api.example.com"
    ),
    .init(
      "admin: { token: \"a b\" }",
      "1: admin.token: the value holds a space, a line break or another character that no key has; it should be a token of 1 to 512 visible ASCII characters"
    ),
    .init(
      "ingest:\n    keys: any\n    listen:\n  - a:1",
      "4: not YAML: the indentation does not fit the lines above; keys of one group begin in the same column (did not find expected key, while parsing a block mapping from line 1)"
    ),
    .init(
      "data_dir: &",
      "1: not YAML: did not find expected alphabetic or numeric character"),
    .init(
      "%YAML 3.0\n---\na: b",
      "1: not YAML: found incompatible YAML document"),
    .init(
      "<<: { a: b }",
      "1: ?: there is no such key here; the keys are admin, apps, data_dir, dead_letters, ingest, log, logging, positions, shutdown, sinks, upstream"
    ),
    .init(
      "log: { durability: \"\" }",
      "1: log.durability: \"\" is not known; it should be fsync or os"),
    .init(
      "Ingest: { listen: a:1 }",
      "1: Ingest: there is no such key here; did you mean ingest?"),
    .init(
      "ingest: { Listen: a:1 }\napps: [{ name: a, writekey: b, accept_key: [] }]",
      "1: ingest.Listen: there is no such key here; did you mean listen?",
      "2: apps[0].writekey: there is no such key here; did you mean write_key?",
      "2: apps[0].accept_key: there is no such key here; did you mean accept_keys?"),
  ]
}
