import Glibc
import Observability
import Threads

/// Says at the start what gives others more than they need. Nothing is changed: it may be meant.
enum StartChecks {
  /// Whose process it is.
  static func checkUser(_ logger: Logger) {
    guard geteuid() == 0 else { return }
    logger.warning("the relay runs as root and needs none of root's rights; give it a user of its own")
  }

  /// What others may do with the files that are there; on a thread of its own, since there may be many.
  static func checkFiles(in directory: String, _ logger: Logger) {
    let code = DetachedThread.start(name: "file modes", niceness: 10) {
      let modes = FileModes(below: directory)
      guard modes.openCount > 0 else { return }
      logger.warning(
        "others than the relay's user may use files of its data directory",
        [
          "count": .integer(modes.openCount), "such_as": .text(modes.open.joined(separator: ", ")),
          "remedy": .text("chmod -R go-rwx \(directory)"),
        ])
    }
    if code != 0 { logger.debug("no thread to look at the files' modes with", ["code": .integer(Int(code))]) }
  }
}
