/// Looks again and again, and lets others run between: for what tells nobody when it changes.
///
/// - Parameters:
///   - limit: only ever ends a test that has failed.
///   - holds: whether it is still to be waited.
/// - Throws: ``NeverHappened`` at the limit, and what `holds` throws.
public func lookAgain(
  within limit: Duration = .seconds(300), while holds: () async throws -> Bool,
  file: StaticString = #fileID, line: Int = #line
) async throws {
  let end = ContinuousClock.now + limit
  while try await holds() {
    guard ContinuousClock.now < end else { throw NeverHappened(description: "\(file):\(line) waited for nothing") }
    await Task.yield()
  }
}

/// What a test waited for didn't come.
public struct NeverHappened: Error, CustomStringConvertible {
  public var description: String
}
