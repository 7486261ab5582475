import Clocks
import JSON
import Records

/// What a sink of line files commits with its position: where its files have got to, and how far each open one is written.
///
/// `{"version":1,"newest":1792757071512,"path":"…","number":0,"ended":false,"files":[{…}]}`
struct NDJSONPosition: Equatable {
  static let version = 1

  var state: RotationPolicy.State
  /// The open files, each with the length that counts. At most one now.
  var files: [FileMark]

  static let beginning = NDJSONPosition(state: .beginning, files: [])

  var json: JSONValue {
    [
      "version": JSONValue(Self.version), "newest": JSONValue(state.newest.milliseconds), "path": JSONValue(state.path),
      "number": JSONValue(state.number), "ended": .bool(state.isEnded), "files": .array(files.map(\.json)),
    ]
  }
}

extension NDJSONPosition {
  /// Reads an attachment; none is a sink's beginning.
  init(_ json: JSONValue?) throws(NDJSONPositionError) {
    guard let json, !json.isNull else {
      self = .beginning
      return
    }
    if let version = json["version"]?.integer(as: Int.self), version > Self.version {
      throw NDJSONPositionError(
        description: "the sink's position has version \(version), and this program reads up to \(Self.version): "
          + "run the program that wrote it, or a newer one")
    }
    guard json["version"]?.integer(as: Int.self) != nil, let newest = json["newest"]?.integer(as: Int64.self),
      let number = json["number"]?.integer(as: Int.self), let isEnded = json["ended"]?.bool,
      let files = json["files"]?.array
    else {
      throw NDJSONPositionError(
        description: "the sink's position can't be read: give the sink another name, or restore its position file")
    }
    state = RotationPolicy.State(
      newest: Timestamp(milliseconds: newest), path: json["path"]?.string, number: number, isEnded: isEnded)
    self.files = files.compactMap { FileMark($0) }
  }
}

/// Why a position can't be used, and what to do.
struct NDJSONPositionError: Error, Sendable, Equatable, CustomStringConvertible {
  let description: String
}
