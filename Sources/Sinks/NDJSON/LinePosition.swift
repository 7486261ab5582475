import Clocks
import JSON
import Records

/// What a sink of line files commits with its position: where each app's files have got to, and how far each is written.
///
/// `{"version":2,"apps":[{"app":"","newest":1792757071512,"path":"…","number":0,"ended":false,"files":[{…}]}]}`
struct LinePosition: Equatable {
  static let version = 2

  struct Files: Equatable {
    /// Empty for all apps.
    var app: String
    var state: RotationPolicy.State
    /// Each with the length that counts.
    var files: [FileMark]
  }

  var apps: [Files]

  var json: JSONValue { ["version": JSONValue(Self.version), "apps": .array(apps.map(\.json))] }
}

extension LinePosition.Files {
  fileprivate var json: JSONValue {
    [
      "app": .string(app), "newest": JSONValue(state.newest.milliseconds), "path": JSONValue(state.path),
      "number": JSONValue(state.number), "ended": .bool(state.isEnded), "files": .array(files.map(\.json)),
    ]
  }

  /// Version 1 had these members at the top, without the app.
  fileprivate init?(_ json: JSONValue) {
    guard let newest = json["newest"]?.integer(as: Int64.self), let number = json["number"]?.integer(as: Int.self),
      let isEnded = json["ended"]?.bool, let files = json["files"]?.array
    else { return nil }
    app = json["app"]?.string ?? ""
    state = RotationPolicy.State(
      newest: Timestamp(milliseconds: newest), path: json["path"]?.string, number: number, isEnded: isEnded)
    self.files = files.compactMap { FileMark($0) }
  }
}

extension LinePosition {
  /// Reads an attachment; none is a sink's beginning.
  init(_ json: JSONValue?) throws(LinePositionError) {
    guard let json, !json.isNull else {
      apps = []
      return
    }
    let version = json["version"]?.integer(as: Int.self)
    if let version, version > Self.version {
      throw LinePositionError(
        description: "the sink's position has version \(version), and this program reads up to \(Self.version): "
          + "run the program that wrote it, or a newer one")
    }
    let entries = version == 1 ? [json] : json["apps"]?.array
    let apps = entries?.compactMap { Files($0) }
    guard version != nil, let apps, apps.count == entries?.count else {
      throw LinePositionError(
        description: "the sink's position can't be read: give the sink another name, or restore its position file")
    }
    self.apps = apps
  }
}

/// Why a position can't be used, and what to do.
struct LinePositionError: Error, Sendable, Equatable, CustomStringConvertible {
  let description: String
}
