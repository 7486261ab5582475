import Observability
import Testing

@Suite("The metrics registry")
struct MetricsTests {
  @Test("renders counters, gauges and histograms in the Prometheus text format")
  func rendering() {
    let metrics = MetricsRegistry()
    metrics.counter("a_total", "As.", [("app", "x\"y\\z")]).add(3)
    metrics.gauge("b", "B.") { 1.5 }
    metrics.histogram("c_seconds", "Cs.", bounds: [0.1, 1]).observe(0.5)
    #expect(
      metrics.renderPrometheus() == """
        # HELP a_total As.
        # TYPE a_total counter
        a_total{app="x\\"y\\\\z"} 3
        # HELP b B.
        # TYPE b gauge
        b 1.5
        # HELP c_seconds Cs.
        # TYPE c_seconds histogram
        c_seconds_bucket{le="0.1"} 0
        c_seconds_bucket{le="1"} 1
        c_seconds_bucket{le="+Inf"} 1
        c_seconds_sum 0.5
        c_seconds_count 1

        """)
  }

  @Test("hands out the same counter for the same labels")
  func identity() {
    let metrics = MetricsRegistry()
    metrics.counter("a", "", [("k", "1")]).add(1)
    metrics.counter("a", "", [("k", "1")]).add(1)
    #expect(metrics.counter("a", "", [("k", "1")]).value == 2)
  }

  @Test("bounds the series of a family")
  func bound() {
    let metrics = MetricsRegistry()
    for i in 0..<(MetricsRegistry.seriesMax + 50) { metrics.counter("a", "", [("k", "\(i)")]).add(1) }
    #expect(metrics.counter("a", "", [("k", "other")]).value == 50)
  }
}
