import Configuration
import Dialects

extension Command {
  /// The names of all protocols, for help texts.
  static var protocolNames: String { DialectRegistry.all.map(\.name).joined(separator: ", ") }

  static var protocolOption: Option {
    Option("protocol", "NAME", "what the events are of: \(protocolNames); without it \(DialectRegistry.usual.name)")
  }

  /// The protocol that `--protocol` names; the usual one without it.
  static func dialect(_ arguments: Arguments) throws(CommandFailure) -> any Dialect {
    guard let name = arguments["protocol"] else { return DialectRegistry.usual }
    return try dialect(name, orAll: false)
  }

  /// - Parameter orAll: `all` would be right too.
  static func dialect(_ name: String, orAll: Bool) throws(CommandFailure) -> any Dialect {
    if let dialect = DialectRegistry.dialect(named: name) { return dialect }
    let names = DialectRegistry.all.map(\.name) + (orAll ? ["all"] : [])
    let meant = Spelling.nearest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
    throw .usage("--protocol wants \(names.joined(separator: ", ")), not \(quoted(name))\(meant)")
  }
}
