/// Whether a request's first line is what the library takes it for, judged by where it says its three parts lie.
///
/// It puts a zero byte behind the method and behind the target, each in the place of one blank. A further blank, which it
/// skips, or a zero byte of the client's, which would hide what follows it, moves the next part away from there.
struct RequestLine {
  private let method: UnsafeRawBufferPointer
  private let target: (begin: UnsafeRawPointer, count: Int)?
  private let version: UnsafeRawPointer

  /// - Parameter target: where it lies, and its bytes up to the first zero byte.
  init(
    method: UnsafePointer<CChar>, target: (begin: UnsafeRawPointer, count: Int)?, version: UnsafePointer<CChar>
  ) {
    var count = 0
    while method[count] != 0 { count += 1 }
    self.method = UnsafeRawBufferPointer(start: method, count: count)
    self.target = target
    self.version = UnsafeRawPointer(version)
  }

  /// What is wrong with it; nil when nothing is.
  var fault: String? {
    guard method.isName else { return "a method that is no word" }
    guard let target, let method = method.baseAddress else { return "no target" }
    if method + self.method.count + 1 != target.begin { return "more than one space before the target" }
    if target.begin + target.count + 1 != version { return "a zero byte, or more than one space, in the target" }
    return nil
  }
}
