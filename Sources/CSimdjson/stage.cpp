#include "stage.hpp"

#include <new>

using namespace simdjson;

namespace {

constexpr size_t capacity_first = 64 * 1024;

size_t sequence_length(const uint8_t *at, const uint8_t *end) {
  uint8_t c = *at;
  size_t length = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
  if (length == 0 || static_cast<size_t>(end - at) < length) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) return 0;
  }
  bool is_overlong = (c == 0xE0 && at[1] < 0xA0) || (c == 0xF0 && at[1] < 0x90);
  bool is_surrogate = c == 0xED && at[1] > 0x9F;
  return is_overlong || is_surrogate || (c == 0xF4 && at[1] > 0x8F) ? 0 : length;
}

/// Stage 1 says that something is wrong, not where: this looks for it, byte by byte.
stage_fault located(error_code error, const uint8_t *body, size_t length) {
  const uint8_t *end = body + length, *opening = nullptr;
  for (const uint8_t *at = body; at < end;) {
    size_t offset = static_cast<size_t>(at - body);
    size_t size = sequence_length(at, end);
    if (size == 0) return stage_fault{"is not valid UTF-8", offset};
    if (opening && *at < 0x20) return stage_fault{"has a control character in a string", offset};
    if (*at == '"') {
      opening = opening ? nullptr : at;
    } else if (*at == '\\' && at + 1 < end && static_cast<uint8_t>(at[1]) < 0x80 && at[1] >= 0x20) {
      size = 2;
    }
    at += size;
  }
  if (opening) return stage_fault{"has a string that is not closed", static_cast<size_t>(opening - body)};
  return stage_fault{error == EMPTY ? "is empty" : "is not JSON", 0};
}

}  // namespace


bool stage::reserve(size_t length) {
  if (length <= capacity) return true;
  size_t wanted = capacity_first;
  while (wanted < length) wanted *= 2;
  capacity = 0;
  levels.reset(new (std::nothrow) uint64_t[wanted / 64 + 1]());
  if (!levels) return false;
  auto error = parser ? parser->set_capacity(wanted)
                      : get_active_implementation()->create_dom_parser_implementation(wanted, 1, parser);
  if (error) return false;
  capacity = wanted;
  return true;
}

stage_fault stage::begin(const uint8_t *body, size_t length) {
  if (length > body_bytes_max) return {"is too long", body_bytes_max};
  if (length == 0) return {"is empty", 0};
  if (length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0) return {"begins with a byte order mark", 0};
  if (!reserve(length)) return {"needs more memory than there is", 0, true};
  if (auto error = parser->stage1(body, length, stage1_mode::regular)) return located(error, body, length);
  uint32_t *indexes = parser->structural_indexes.get();
  uint32_t count = parser->n_structural_indexes;
  if (body[indexes[0]] != '{') return {"is not a JSON object", indexes[0]};
  if (body[indexes[count - 1]] != '}') return {"does not end with its closing brace", indexes[count - 1]};
  indexes[count] = indexes[count + 1] = indexes[0];
  return {};
}

walker stage::walk(const uint8_t *body, size_t length) {
  return walker(
      body, static_cast<uint32_t>(length), parser->structural_indexes.get(), parser->n_structural_indexes, levels.get());
}
