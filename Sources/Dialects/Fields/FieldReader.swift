import CSimdjson
import EventsAPI

/// Finds events in bodies, and in them the members with certain names: what protocols read with that have no reader of their
/// own.
///
/// One thread at a time may use it. Bodies must be readable for 64 bytes past their end.
final class FieldReader {
  private let reader: OpaquePointer?
  private let bodyBytesMax: Int
  private let elementsMax: Int

  /// - Parameters:
  ///   - elementsMax: events of a body; of more, the first ones are given, and all are counted.
  ///   - body: names that are looked for in a body's own object, with a space between two; at most 16, of at most 24 bytes.
  ///   - element: those that are looked for in each event.
  init(bodyBytesMax: Int, elementsMax: Int, body: String, element: String) {
    self.bodyBytesMax = bodyBytesMax
    self.elementsMax = elementsMax
    reader = json_field_reader_make(bodyBytesMax, elementsMax, body, element)
  }

  deinit { if let reader { json_field_reader_free(reader) } }

  /// Reads `{"events":[…],…}`.
  func readBatch(_ body: UnsafeRawBufferPointer) -> Result<Fields, APIError> {
    read(body, json_field_reader_read_batch)
  }

  /// Reads a body that is one event. Its members are looked for by both lists of names.
  func readOne(_ body: UnsafeRawBufferPointer) -> Result<Fields, APIError> { read(body, json_field_reader_read_one) }

  private func read(
    _ body: UnsafeRawBufferPointer, _ call: (OpaquePointer?, UnsafeRawPointer?, Int) -> json_fields
  ) -> Result<Fields, APIError> {
    guard let reader else { return .failure(.serverError("There is not enough memory to read the body; try later.")) }
    guard body.count <= bodyBytesMax else { return .failure(.payloadTooLarge(bytesMax: bodyBytesMax)) }
    let found = call(reader, body.baseAddress, body.count)
    guard let fault = found.fault else {
      return .success(Fields(found, elementsMax: elementsMax, in: body.baseAddress!))
    }
    if found.is_out_of_memory {
      return .failure(.serverError("There is not enough memory to read the body; try later."))
    }
    return .failure(.invalidBody("The body \(String(cString: fault)) (at byte \(found.fault_offset))."))
  }
}

/// What a body holds. Good until its reader reads another.
struct Fields {
  /// Events of the body; more than there are elements when there were too many.
  let count: Int
  /// The array `events`, brackets included; empty for a body that is one event.
  let array: Range<Int>
  private let found: json_fields
  private let elementsMax: Int
  private let bytes: UnsafeRawPointer

  fileprivate init(_ found: json_fields, elementsMax: Int, in bytes: UnsafeRawPointer) {
    self.found = found
    self.elementsMax = elementsMax
    self.bytes = bytes
    count = found.count
    array = Int(found.array.begin)..<Int(found.array.end)
  }

  /// The body's own object.
  var body: JSONElement { JSONElement(found.body, in: bytes) }

  /// One of the first events.
  subscript(_ index: Int) -> JSONElement {
    precondition(index < min(count, elementsMax), "no element was kept for this event")
    return JSONElement(found.elements + index, in: bytes)
  }
}

/// An event of a body, or the body itself.
struct JSONElement {
  private let element: UnsafePointer<json_element>
  private let bytes: UnsafeRawPointer

  fileprivate init(_ element: UnsafePointer<json_element>, in bytes: UnsafeRawPointer) {
    self.element = element
    self.bytes = bytes
  }

  var range: Range<Int> { Int(element.pointee.begin)..<Int(element.pointee.end) }
  var isObject: Bool { Int(element.pointee.kind) == Int(json_object) }
  /// A line break stands between its tokens.
  var hasLineBreaks: Bool { element.pointee.has_line_breaks }
  /// A member that was asked for stands in it twice: the last one counts.
  var hasRepeats: Bool { element.pointee.has_repeats }

  /// The member with a name, by the name's place in the list.
  subscript(_ place: Int) -> JSONField {
    precondition(place < Int(json_names_max), "no such name")
    let fields = UnsafeRawPointer(element) + MemoryLayout<json_element>.offset(of: \.fields)!
    return JSONField(
      fields.load(fromByteOffset: place * MemoryLayout<json_field>.stride, as: json_field.self), in: bytes)
  }
}
