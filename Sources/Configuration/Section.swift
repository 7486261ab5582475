/// A group of keys being read: hands out its values and knows which keys nobody asked for.
public final class Section {
  let findings: Findings
  /// `sinks[0].rotate`; empty for the whole file.
  public let path: String
  /// The same with `[]` in place of numbers.
  private let schemaPath: String
  public let line: Int
  /// False when something else stands in its place, which is a fault already.
  private(set) var isGroup = true
  /// No value asked for so far was wrong, so that they can be judged together.
  public private(set) var isSound = true
  private var members: [String: YAMLNode.Member] = [:]
  /// In the file's order.
  private var order: [YAMLNode.Member] = []
  private var known: [String] = []
  private var refused: Set<String> = []

  init(_ node: YAMLNode?, path: String, schemaPath: String, line: Int, findings: Findings) {
    (self.path, self.schemaPath, self.line, self.findings) = (path, schemaPath, line, findings)
    guard let node, !node.isNull else { return }
    guard case .mapping(let members) = node.content else {
      isGroup = false
      findings.fault(line: line, key: path, "is \(node.kind), and should be a group of keys, each with its value")
      return
    }
    for member in members {
      if let first = self.members[member.key] {
        findings.fault(
          line: member.line, key: child(member.key), "stands twice; the first is on line \(first.line): remove one")
      } else {
        self.members[member.key] = member
        order.append(member)
      }
    }
  }

  /// What relative paths are relative to, absolute.
  public var directory: String { findings.directory }

  func child(_ key: String) -> String {
    path.isEmpty ? findings.quoting.key(key) : "\(path).\(findings.quoting.key(key))"
  }

  private func schemaChild(_ key: String) -> String { schemaPath.isEmpty ? key : "\(schemaPath).\(key)" }

  /// The keys that stand here, in the file's order: for groups whose keys are the user's own.
  public var keys: [String] { order.map(\.key) }

  public func has(_ key: String) -> Bool { members[key] != nil }

  /// The key is there and its value is not `~`.
  public func hasValue(_ key: String) -> Bool { members[key].map { !isNothing($0.value) } ?? false }

  /// A list without elements, or no value at all.
  public func isEmptyList(_ key: String) -> Bool {
    guard let member = members[key] else { return false }
    if case .sequence(let elements) = member.value.content { return elements.isEmpty }
    return member.value.isNull
  }

  /// Where a key stands; where its group does when it has only its default.
  public func line(of key: String) -> Int { members[key]?.line ?? line }

  public func fault(_ key: String, _ message: String) {
    isSound = false
    findings.fault(line: line(of: key), key: child(key), message)
  }

  public func warn(_ key: String, _ message: String) {
    findings.warn(line: line(of: key), key: child(key), message)
  }

  private func member(_ key: String) -> YAMLNode.Member? {
    if !known.contains(key) { known.append(key) }
    findings.asked(schemaChild(key))
    return members[key]
  }

  /// Keys that a later version brings: a fault that says so.
  public func later(_ keys: String...) {
    for key in keys { refuse(key, "comes with a later version of event-relay; remove it") }
  }

  /// A key that has no place here: a fault that says why and what would be right.
  func refuse(_ key: String, _ message: String) {
    refused.insert(key)
    if has(key) { fault(key, message) }
  }

  /// Knows a key, whatever stands there.
  func skip(_ key: String) { _ = member(key) }

  /// A group within this one; an empty one when it isn't there.
  public func section(_ key: String) -> Section {
    let member = member(key)
    return Section(
      member?.value, path: child(key), schemaPath: schemaChild(key), line: member?.line ?? line, findings: findings)
  }

  /// The groups of a list; none when it isn't there. Elements that are no groups are faults and left out.
  func sections(_ key: String, max: Int) -> [Section] {
    elements(key, max: max, of: "groups of keys").enumerated().compactMap { index, element in
      let path = "\(child(key))[\(index)]"
      if element.isNull {
        findings.fault(line: element.line, key: path, "is empty; remove the \"-\" or give it keys")
        return nil
      }
      let section = Section(
        element, path: path, schemaPath: schemaChild(key) + "[]", line: element.line, findings: findings)
      return section.isGroup ? section : nil
    }
  }

  private func elements(_ key: String, max: Int, of noun: String) -> [YAMLNode] {
    guard let member = member(key), !member.value.isNull else { return [] }
    guard case .sequence(let elements) = member.value.content else {
      fault(key, "is \(member.value.kind), and should be a list of \(noun), each after a \"- \"")
      return []
    }
    guard elements.count <= max else {
      fault(key, "has \(elements.count) elements, and may have \(max) at most")
      return []
    }
    return elements
  }

  /// The value of a key; nil when it isn't there, or is wrong, which is then a fault.
  public func value<Value>(_ key: String, _ format: ScalarFormat<Value>) -> Value? {
    guard let member = member(key) else { return nil }
    return scalar(member.value, line: member.line, key: child(key), format)
  }

  /// Sets what the file gives a value for.
  public func read<Value>(_ key: String, into target: inout Value, _ format: ScalarFormat<Value>) {
    if let value = value(key, format) { target = value }
  }

  /// Sets what the file gives a value for, or nil for `~`.
  public func readOptional<Value>(_ key: String, into target: inout Value?, _ format: ScalarFormat<Value>) {
    guard let member = member(key) else { return }
    if isNothing(member.value) { return target = nil }
    if let value = scalar(member.value, line: member.line, key: child(key), format) { target = value }
  }

  /// The values of a list, each with its line; a single value counts as a list of one. Nil when it isn't there.
  public func list<Value>(_ key: String, max: Int, _ format: ScalarFormat<Value>) -> [(value: Value, line: Int)]? {
    guard let member = member(key) else { return nil }
    if case .scalar = member.value.content, !member.value.isNull {
      return scalar(member.value, line: member.line, key: child(key), format).map { [($0, member.line)] } ?? []
    }
    return elements(key, max: max, of: "values").enumerated().compactMap { index, element in
      scalar(element, line: element.line, key: "\(child(key))[\(index)]", format).map { ($0, element.line) }
    }
  }

  /// Reports the keys that nobody asked for. To be called when everything is read.
  public func finish() {
    for member in order where !known.contains(member.key) && !refused.contains(member.key) {
      if let meant = Spelling.nearest(to: member.key, among: known.filter { !has($0) || $0 == member.key }) {
        findings.fault(
          line: member.line, key: child(member.key), "there is no such key here; did you mean \(meant)?")
      } else {
        findings.fault(
          line: member.line, key: child(member.key),
          "there is no such key here; the keys are \(known.sorted().joined(separator: ", "))")
      }
    }
  }

  /// `~`, or a value whose variables are all empty.
  private func isNothing(_ node: YAMLNode) -> Bool {
    if node.isNull { return true }
    guard case .scalar(let text, _) = node.content,
      let expanded = try? EnvironmentExpansion(environment: findings.environment).expand(text)
    else { return false }
    return expanded.text.isEmpty && !expanded.names.isEmpty
  }

  private func scalar<Value>(_ node: YAMLNode, line: Int, key: String, _ format: ScalarFormat<Value>) -> Value? {
    guard case .scalar(let text, _) = node.content else {
      isSound = false
      findings.fault(line: line, key: key, "is \(node.kind), and should be \(format.noun)")
      return nil
    }
    guard !node.isNull else {
      isSound = false
      findings.fault(
        line: line, key: key, "has no value; it should be \(format.noun), or remove the line for the default")
      return nil
    }
    do {
      let expanded = try EnvironmentExpansion(environment: findings.environment).expand(text)
      do {
        return try format.parse(expanded.text)
      } catch {
        findings.fault(line: line, key: key, message(error, text, expanded.names, format))
      }
    } catch {
      if !(error.isUnset && findings.isForAsking) { findings.fault(line: line, key: key, error.message) }
    }
    isSound = false
    return nil
  }

  private func message<Value>(
    _ misfit: Misfit, _ text: String, _ names: [String], _ format: ScalarFormat<Value>
  ) -> String {
    let subject: String
    var hint = misfit.hint
    if !names.isEmpty {
      // What the environment holds may be a secret, whatever key it ended up under.
      subject = "the value, with \(names.joined(separator: " and ")) from the environment,"
      hint = nil
    } else if format.isPrintable {
      subject = findings.quoting.quote(text)
    } else {
      subject = "the value"
      hint = nil
    }
    let meant = hint.map { "did you mean \($0)? " } ?? ""
    return "\(subject) \(misfit.problem); \(meant)\(meant.isEmpty ? "it should be" : "It should be") \(format.noun)"
  }
}
