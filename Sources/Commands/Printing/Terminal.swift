import Glibc

/// A terminal that progress can be drawn on.
struct Terminal: Sendable, Equatable {
  /// In characters.
  var width: Int

  init(width: Int) { self.width = width }

  /// Nil when the descriptor is no terminal, or one that can't draw over a line.
  init?(descriptor: Int32) {
    guard isatty(descriptor) == 1 else { return nil }
    if let type = getenv("TERM"), String(cString: type) == "dumb" { return nil }
    var size = winsize()
    let isKnown = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
    width = isKnown ? Int(size.ws_col) : 80
  }
}
