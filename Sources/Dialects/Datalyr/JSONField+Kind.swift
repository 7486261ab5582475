import CSimdjson

extension JSONField {
  /// What kind of value it is, as messages to senders say it.
  var kindName: String {
    switch Int(token.kind) {
    case Int(json_absent): "missing"
    case Int(json_null): "null"
    case Int(json_boolean): "a boolean"
    case Int(json_number): "a number"
    case Int(json_string): "a string"
    case Int(json_object): "an object"
    default: "an array"
    }
  }
}
