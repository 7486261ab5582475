/// A set that forgets: of at most so many elements, and at least the latest half of as many.
struct GenerationalSet<Element: Hashable & Sendable>: Sendable {
  private let generationMax: Int
  private var young: Set<Element> = []
  private var old: Set<Element> = []

  init(max: Int) { generationMax = Swift.max(1, max / 2) }

  var count: Int { young.count + old.count }

  func contains(_ element: Element) -> Bool { young.contains(element) || old.contains(element) }

  /// Remembers an element that isn't in it.
  mutating func insert(_ element: Element) {
    if young.count >= generationMax {
      old = young
      young = []
    }
    young.insert(element)
  }
}
