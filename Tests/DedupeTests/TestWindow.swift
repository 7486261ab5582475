@testable import Dedupe

/// A window that expectations can hold.
final class TestWindow {
  private var window: DuplicateWindow

  init(window length: Int64, maxIDs: Int, firstPlace: UInt64 = 1) {
    window = DuplicateWindow(window: length, maxIDs: maxIDs, firstPlace: firstPlace)
  }

  var length: Int64 {
    get { window.window }
    set { window.window = newValue }
  }
  var count: Int { window.count }
  var bytes: Int { window.bytes }
  var evicted: UInt64 { window.evicted }

  @discardableResult
  func see(_ key: EventKey, body: UInt64, ticket: UInt64, at moment: Int64) -> DuplicateWindow.Sighting {
    window.see(key, body: body, ticket: ticket, at: moment)
  }

  func stored(places: Range<UInt64>, ticket: UInt64, first: UInt64) {
    window.stored(places: places, ticket: ticket, first: first)
  }

  func refused(places: Range<UInt64>, ticket: UInt64) { window.refused(places: places, ticket: ticket) }

  func forget(_ key: EventKey, sequence: UInt64) -> Bool { window.forget(key, sequence: sequence) }
}
