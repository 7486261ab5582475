extension MetricsRegistry {
  public static let prometheusContentType = "text/plain; version=0.0.4; charset=utf-8"

  /// All metrics in the Prometheus text format 0.0.4.
  public func renderPrometheus() -> String {
    var out = ""
    for family in snapshot() {
      out += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
      out += "# TYPE \(family.name) \(family.type)\n"
      for series in family.series {
        switch series.source {
        case .counter(let counter): out += "\(family.name)\(Self.braces(series.labels)) \(counter.value)\n"
        case .reading(let read): out += "\(family.name)\(Self.braces(series.labels)) \(Self.number(read()))\n"
        case .histogram(let histogram): Self.render(histogram, family.name, series.labels, to: &out)
        }
      }
      for (labels, value) in family.collect?() ?? [] {
        out += "\(family.name)\(Self.braces(labels)) \(Self.number(value))\n"
      }
    }
    return out
  }

  private static func render(_ histogram: Histogram, _ name: String, _ labels: Labels, to out: inout String) {
    let snapshot = histogram.snapshot
    for (bound, count) in zip(histogram.bounds.map(number) + ["+Inf"], snapshot.cumulative) {
      out += "\(name)_bucket\(braces(labels + [("le", bound)])) \(count)\n"
    }
    out += "\(name)_sum\(braces(labels)) \(number(snapshot.sum))\n"
    out += "\(name)_count\(braces(labels)) \(snapshot.count)\n"
  }

  private static func braces(_ labels: Labels) -> String {
    guard !labels.isEmpty else { return "" }
    return "{" + labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ",") + "}"
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var out = ""
    for character in text.unicodeScalars {
      switch character {
      case "\\": out += "\\\\"
      case "\n": out += "\\n"
      case "\"" where quotes: out += "\\\""
      default: out.unicodeScalars.append(character)
      }
    }
    return out
  }

  private static func number(_ value: Double) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    return value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
  }
}
