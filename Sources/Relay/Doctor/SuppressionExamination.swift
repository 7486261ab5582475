import Glibc
import JSON
import Records

/// Whether the file that counts what deny lists keep out is whole, and says what a running relay says.
struct SuppressionExamination {
  /// A relay that counts just then is asked again.
  static let roundsMax = 10
  private static let pause: useconds_t = 100_000
  private static let name = "suppressed"

  let dataDirectory: String
  /// The running relay's status; nil when none runs.
  let status: () -> JSONValue?

  func check() -> DoctorCheck {
    var check = look()
    for _ in 1..<Self.roundsMax where !check.check.isOK && check.isComparison {
      usleep(Self.pause)
      check = look()
    }
    return check.check
  }

  private func look() -> (check: DoctorCheck, isComparison: Bool) {
    let before = Self.total(status())
    let path = "\(dataDirectory)/\(SuppressionCounts.fileName)"
    let counts: SuppressionCounts
    do throws(FileError) {
      switch try SuppressionCounts.read(dataDirectory) {
      case nil: counts = SuppressionCounts()
      case .counts(let found): counts = found
      case .newer(let version):
        let text = "\(path) has version \(version), and this program reads up to \(SuppressionCounts.version)"
        return (.wrong(Self.name, text, "ask the program that wrote it, or a newer one"), false)
      case .damaged:
        return (
          .wrong(
            Self.name, "\(path) is damaged",
            "put it back from a backup while the relay is stopped; else the next start sets it aside and counts anew"),
          false
        )
      }
    } catch {
      return (.wrong(Self.name, error.description, "let the relay's user read all of data_dir"), false)
    }
    return (Self.compare(counts, before: before, after: before == nil ? nil : Self.total(status())), true)
  }

  /// A decision: the file's total lies between what the relay said before it was read and what it says after.
  static func compare(_ counts: SuppressionCounts, before: UInt64?, after: UInt64?) -> DoctorCheck {
    let total = counts.total
    if let before, let after, !(before...max(before, after)).contains(total) {
      return .wrong(
        name,
        "the relay says that deny lists kept out \(before == after ? "\(before)" : "\(before) to \(after)") events, and its "
          + "file says \(total)",
        "is data_dir that of the relay that runs? Else stop it, and ask doctor again")
    }
    let apps = counts.apps.count == 1 ? "1 app" : "\(counts.apps.count) apps"
    let anew = counts.since.map { "; the counts began anew at \($0), since the file was damaged" } ?? ""
    return .ok(name, (total == 0 ? "no event was kept out by a deny list" : "\(total) events of \(apps)") + anew)
  }

  private static func total(_ status: JSONValue?) -> UInt64? {
    status?["ledger"]?["suppressed"]?["total"]?.integer()
  }
}
