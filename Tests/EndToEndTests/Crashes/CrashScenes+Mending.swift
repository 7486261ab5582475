import Foundation
import JSON
import TestSupport

extension CrashScene {
  static let retention = CrashScene(
    name: "retention", play: { stage in try await stage.stop(try await stage.start(settings(stage))) },
    last: { settings($0) })
  static let mending = CrashScene(
    name: "mending", play: { stage in try await stage.stop(try await stage.start(settings(stage))) },
    last: { settings($0) })
}
