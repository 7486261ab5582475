import JSON

/// What `doctor` found, for people.
struct DoctorTables {
  let report: JSONValue

  private var checks: [JSONValue] { report["checks"]?.array ?? [] }
  private var faults: [JSONValue] { checks.filter { $0["ok"]?.bool != true } }

  /// A line a check, then what to do about each that is wrong.
  var text: String {
    var table = Table([.init("check"), .init("result"), .init("found")])
    for check in checks {
      table.add([
        check["name"]?.string ?? "", check["ok"]?.bool == true ? "ok" : "WRONG", check["detail"]?.string ?? "",
      ])
    }
    let running = report["running"]?.bool == true ? "a relay runs" : "no relay runs"
    var text = PrintableText.of("\(running) on \(report["data_dir"]?.string ?? "?")") + "\n\n" + table.text
    for check in faults {
      let remedy = check["remedy"]?.string ?? ""
      text += "\n" + PrintableText.of("\(check["name"]?.string ?? ""): \(remedy)") + "\n"
    }
    return text
  }

  /// The first thing that is wrong, in a line; nil when nothing is.
  var firstFault: String? {
    faults.first.map { "\($0["name"]?.string ?? "?"): \($0["detail"]?.string ?? "")" }
  }
}
