import Relay

extension RelayPort {
  /// The relay that this program has.
  static let this = RelayPort(
    run: { configuration, options, environment, source in
      await Daemon(
        configuration: configuration, options: Daemon.Options(standsIn: options.standsIn, adopts: options.adopts),
        environment: environment, source: source
      ).run()
    },
    offlineStatus: { configuration in
      guard let relay = try OfflineRelay(configuration) else { return nil }
      defer { relay.close() }
      return relay.status()
    },
    offlineReplay: { configuration, path, body, goesOn in
      guard let relay = try OfflineRelay(configuration) else { return nil }
      defer { relay.close() }
      return try relay.perform(path, body, goesOn)
    },
    misfits: { configuration in
      do {
        guard let relay = try OfflineRelay(configuration) else { return [] }
        defer { relay.close() }
        return relay.misfits()
      } catch {
        return ["the data directory can't be looked at: \(error)"]
      }
    },
    doctor: { configuration, faults, isDeep, status in
      Doctor(configuration, faults: faults, isDeep: isDeep, status: status).examine()
    },
    offlinePassport: { configuration, id, timeout in
      try PassportSearch.offline(configuration, id: id, timeout: timeout)
    },
    adminAddress: { AddressBook(directory: $0)?.admin }, adminKey: { AddressBook(directory: $0)?.adminKey },
    tlsFaults: { TLSCheck.faults($0) })
}
