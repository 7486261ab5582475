import Clocks
import Observability
import Synchronization
import TestSupport

@testable import Apps

/// A clock that tests set.
final class SettableClock: Sendable {
  private let milliseconds = Atomic<Int64>(1_792_757_071_512)

  var clock: WallClock { WallClock { Timestamp(milliseconds: self.milliseconds.load(ordering: .relaxed)) } }

  func advance(by duration: Duration) { milliseconds.add(duration.milliseconds, ordering: .relaxed) }
}

/// What was logged.
final class LogLines: Sendable {
  private let all = Mutex<[String]>([])
  var list: [String] { all.withLock { $0 } }
  var logger: Logger {
    Logger(level: .debug) { line in self.all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
  }
}

extension AppAdmission {
  var appName: String? {
    if case .app(let app) = self { app.name } else { nil }
  }
}

func registry(
  _ apps: [AppDefinition] = [], mode: KeyMode = .any, storage: String? = nil, clock: WallClock = .system,
  logger: Logger = .silent
) throws -> AppRegistry {
  try AppRegistry(apps: apps, mode: mode, storage: storage, clock: clock, logger: logger)
}

/// The name that a key's app gets when no other has it.
func ownName(_ key: String) -> String { "key-\(AppRegistry.fingerprint(of: key))" }

let ios = AppDefinition(name: "ios", writeKey: "aso_wk_ios", acceptKeys: ["local-sender", "aso_wk_former"])
