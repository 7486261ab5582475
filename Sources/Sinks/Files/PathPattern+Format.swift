import Configuration

extension ScalarFormat where Value == PathPattern {
  /// A pattern of files' paths; a relative one is relative to `directory`.
  static func pathPattern(relativeTo directory: String) -> ScalarFormat {
    // A % of the directory's own is no field.
    let path = ScalarFormat<String>.path(
      relativeTo: directory.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%%"))
    return ScalarFormat(
      noun: "a file's path with the fields %Y, %m, %d, %H, %M and %app, such as ./data/events/%Y/%m/%d/%H.ndjson"
    ) { text throws(Misfit) in
      let absolute = try path.parse(text)
      guard !text.hasSuffix("/"), !text.hasSuffix("/.."), text != ".." else { throw Misfit("names no file") }
      do throws(PathPatternError) {
        return try PathPattern(absolute)
      } catch {
        throw Misfit(error.description)
      }
    }
  }
}
