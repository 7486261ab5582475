import Clocks
import Dialects
import EventLog
import Testing

@testable import Delivery

@Suite("A web batch of Datalyr's that the upstream refuses")
struct WebKeyTests {
  private let scene = Scene()
  private let dialect = Datalyr()
  private let workspace = "ws_0123456789"

  private func store(_ numbers: ClosedRange<Int>, isWeb: Bool) {
    for number in numbers {
      scene.log.append(
        #"{"event_name":"n","event_id":"e\#(number)","workspace_id":"ws_\u0030123456789","n":\#(number)}"#, app: "web",
        receivedAt: scene.simulation.wallClock.now, flags: isWeb ? [.otherForm] : [], install: UInt64(number),
        dialect: dialect.number)
    }
  }

  private func start() async -> Scene.Life {
    scene.upstream.answers { [workspace] _ in
      .status(
        401, #"{"code":"no-\#(workspace)","message":"workspace \#(workspace) is unknown, or key dk_sesame_sesame"}"#)
    }
    scene.keys.set("web", "dk_sesame_sesame")
    return await scene.start(byApp: ["web": UpstreamConfiguration(defaultsOf: dialect)])
  }

  @Test(
    "tells that its workspace is what is wrong, and not the write key, and shows neither", arguments: [true, false])
  func advice(isWeb: Bool) async {
    store(1...5, isWeb: isWeb)
    let life = await start()
    scene.simulation.advance(by: .seconds(1))
    let detail = life.status.detail ?? ""
    #expect(detail.contains("workspace_id: set the right one in the pages' SDK") == isWeb)
    #expect(detail.contains("set the right write_key and reload") == !isWeb)
    #expect(scene.deadLetters.count == 3)
    let shown = scene.deadLetters.flatMap { [$0.code, $0.message] }.compactMap(\.self) + [detail] + scene.lines.value
    #expect(!shown.contains { $0.contains("dk_sesame") })
    #expect(shown.contains { $0.contains(workspace) } == !isWeb)
    #expect(shown.contains { $0.contains("workspace (key) is unknown, or key (key)") } == isWeb)
  }
}
