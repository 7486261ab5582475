import Clocks
import Observability
import Replay

extension ReplayDesk.Room {
  init(_ storage: Storage, _ destinations: Destinations, _ clock: WallClock, _ logger: Logger) {
    let audit = storage.audit
    let apps = storage.apps
    self.init(
      log: storage.log, deadLetters: destinations.deadLetters, relay: storage.instanceID,
      directory: "\(storage.directory)/replays", destinations: destinations.types,
      speaks: { apps.dialect(ofApp: $0) }, clock: clock, logger: logger
    ) { action, actor, details in
      try audit.record(action, by: actor, details)
    }
  }
}
