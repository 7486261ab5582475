import Foundation
import TestSupport

/// A user without any rights, as whom a test that is run by root starts programs.
enum ForeignUser {
  static let id: uid_t = 65_534
  private static let setpriv = "/usr/bin/setpriv"

  static var canBeUsed: Bool { geteuid() == 0 && FileManager.default.isExecutableFile(atPath: setpriv) }

  /// What stands before a command that is to run as this user, without a privilege and without a way to get one.
  static let command = [
    setpriv, "--reuid=\(id)", "--regid=\(id)", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
    "--no-new-privs",
  ]

  /// Gives this user a directory with all that is in it, and a copy of the program that it can run.
  static func settle(in directory: TemporaryDirectory) throws -> String {
    let program = directory.file("event-relay")
    if !FileManager.default.fileExists(atPath: program) {
      try FileManager.default.copyItem(atPath: ChildProcess.eventRelay, toPath: program)
    }
    for name in [""]
      + (FileManager.default.enumerator(atPath: directory.path)?.allObjects ?? []).compactMap({
        $0 as? String
      })
    {
      lchown(directory.file(name), id, gid_t(id))
    }
    return program
  }
}
