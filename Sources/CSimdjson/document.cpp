#include "CSimdjsonDocument.h"

#include <simdjson.h>

#include <memory>
#include <new>

#include "walker.hpp"

using namespace simdjson;

namespace {

/// Deeper documents than this are refused, so that a visitor may recurse.
constexpr size_t depth_max = 64;

class document_reader {
 public:
  document_reader(walker &walk, const json_visitor &visitor, uint8_t *buffer, size_t capacity)
      : walk(walk), visitor(visitor), buffer(buffer), capacity(capacity) {}

  bool value(size_t depth) {
    if (walk.cursor >= walk.last) return ends_early();
    uint8_t first = walk.peek();
    if (first == '{' || first == '[') {
      if (depth == depth_max) return walk.fail("is nested too deeply", *walk.cursor);
      return first == '{' ? object(depth + 1) : array(depth + 1);
    }
    event_token token;
    if (!walk.value(token)) return false;
    const char *text = reinterpret_cast<const char *>(walk.body + token.begin);
    switch (token.kind) {
      case json_string: emit(token, visitor.string); break;
      case json_number: visitor.number(visitor.context, text, token.end - token.begin); break;
      case json_boolean: visitor.boolean(visitor.context, *text == 't'); break;
      default: visitor.null(visitor.context); break;
    }
    return true;
  }

 private:
  walker &walk;
  const json_visitor &visitor;
  /// As long as the document: no string is longer unescaped.
  uint8_t *const buffer;
  const size_t capacity;

  bool ends_early() { return walk.fail("ends too early", walk.length); }

  void emit(const event_token &token, void (*visit)(void *, const char *, size_t)) {
    const uint8_t *text = walk.body + token.begin + 1;
    size_t length = json_text_unescape(text, token.end - token.begin - 2, json_surrogates_replaced, buffer, capacity);
    visit(visitor.context, reinterpret_cast<const char *>(buffer), length);
  }

  /// Whether the container ends here, past a `,` when it doesn't.
  bool separator(uint8_t closing, bool &is_closed) {
    if (walk.cursor >= walk.last || (walk.peek() != closing && walk.peek() != ',')) {
      return walk.fail_here("has no ',' and no closing bracket where one must stand");
    }
    is_closed = walk.peek() == closing;
    walk.cursor++;
    return true;
  }

  bool is_empty(uint8_t closing) {
    walk.cursor++;
    if (walk.cursor >= walk.last || walk.peek() != closing) return false;
    walk.cursor++;
    return true;
  }

  bool object(size_t depth) {
    visitor.begin_object(visitor.context);
    for (bool is_closed = is_empty('}'); !is_closed;) {
      event_token key;
      if (walk.cursor >= walk.last) return ends_early();
      if (!walk.key(key)) return false;
      emit(key, visitor.key);
      if (!value(depth) || !separator('}', is_closed)) return false;
    }
    visitor.end_object(visitor.context);
    return true;
  }

  bool array(size_t depth) {
    visitor.begin_array(visitor.context);
    for (bool is_closed = is_empty(']'); !is_closed;) {
      if (!value(depth) || !separator(']', is_closed)) return false;
    }
    visitor.end_array(visitor.context);
    return true;
  }
};

const char *stage1_fault(error_code error) {
  switch (error) {
    case EMPTY: return "is empty";
    case UTF8_ERROR: return "is not valid UTF-8";
    case UNESCAPED_CHARS: return "has a control character in a string";
    case UNCLOSED_STRING: return "has a string that is not closed";
    default: return "is not JSON";
  }
}

}  // namespace

const char *json_document_visit(const char *bytes, size_t length, const json_visitor *visitor) {
  const char *no_memory = "needs more memory than there is";
  std::unique_ptr<internal::dom_parser_implementation> parser;
  if (length == 0) return "is empty";
  if (get_active_implementation()->create_dom_parser_implementation(length, 1, parser)) return no_memory;
  // A copy, since the padding must be readable and callers' bytes have none.
  std::unique_ptr<uint8_t[]> memory(new (std::nothrow) uint8_t[2 * length + SIMDJSON_PADDING]());
  if (!memory) return no_memory;
  uint8_t *body = memory.get(), *buffer = body + length + SIMDJSON_PADDING;
  memcpy(body, bytes, length);
  if (auto error = parser->stage1(body, length, stage1_mode::regular)) return stage1_fault(error);
  uint32_t *indexes = parser->structural_indexes.get(), count = parser->n_structural_indexes;
  uint8_t first = body[indexes[0]], last = body[indexes[count - 1]];
  if (first != '{' && first != '[') return "is neither an object nor an array";
  // The last token ends no scalar: then none can run past the end.
  if (last != '}' && last != ']') return "does not end with its closing bracket";
  walker walk(body, static_cast<uint32_t>(length), indexes, count, nullptr);
  document_reader reader(walk, *visitor, buffer, length);
  if (!reader.value(0)) return walk.fault;
  return walk.cursor == walk.last ? nullptr : "goes on after its closing bracket";
}

bool json_document_is_known_to_simdjson(const char *bytes, size_t length) {
  dom::parser parser;
  dom::element root;
  return parser.parse(bytes, length).get(root) == SUCCESS;
}
