#include "CSimdjsonDocument.h"

#include <simdjson.h>

using namespace simdjson;

namespace {

/// Deeper documents than this are refused, so that a visitor may recurse.
constexpr size_t depth_max = 64;

void visit(ondemand::value value, const json_visitor &v);

void visit_object(ondemand::object object, const json_visitor &v) {
  v.begin_object(v.context);
  for (auto field : object) {
    std::string_view key = field.unescaped_key();
    v.key(v.context, key.data(), key.size());
    visit(field.value(), v);
  }
  v.end_object(v.context);
}

void visit_array(ondemand::array array, const json_visitor &v) {
  v.begin_array(v.context);
  for (ondemand::value element : array) visit(element, v);
  v.end_array(v.context);
}

void visit(ondemand::value value, const json_visitor &v) {
  switch (ondemand::json_type(value.type())) {
    case ondemand::json_type::object: return visit_object(value.get_object(), v);
    case ondemand::json_type::array: return visit_array(value.get_array(), v);
    case ondemand::json_type::string: {
      std::string_view text = value.get_string();
      return v.string(v.context, text.data(), text.size());
    }
    case ondemand::json_type::number: {
      std::string_view token = value.raw_json_token();
      while (!token.empty() && strchr(" \t\r\n", token.back())) token.remove_suffix(1);
      double checked = value.get_double();
      (void)checked;
      return v.number(v.context, token.data(), token.size());
    }
    case ondemand::json_type::boolean: return v.boolean(v.context, value.get_bool());
    case ondemand::json_type::null:
      if (!value.is_null()) throw simdjson_error(N_ATOM_ERROR);
      return v.null(v.context);
  }
}

}  // namespace

const char *json_document_visit(const char *bytes, size_t length, const json_visitor *visitor) {
  try {
    // The DOM parser checks every byte and the depth; the on-demand walk after it keeps numbers as they are written.
    dom::parser checker;
    if (auto error = checker.allocate(length > 0 ? length : 1, depth_max)) return error_message(error);
    padded_string padded(bytes, length);
    dom::element root = checker.parse(padded);
    if (!root.is_object() && !root.is_array()) return "neither an object nor an array";
    ondemand::parser parser;
    ondemand::document document = parser.iterate(padded);
    visit(document.get_value(), *visitor);
    return nullptr;
  } catch (const simdjson_error &error) {
    return error_message(error.error());
  } catch (const std::bad_alloc &) {
    return "out of memory";
  }
}
