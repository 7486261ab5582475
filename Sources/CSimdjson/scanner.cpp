#include <simdjson.h>

#include <memory>
#include <new>

#include "events.hpp"

using namespace simdjson;

namespace {

constexpr size_t capacity_first = 64 * 1024;

}  // namespace

struct event_scanner {
  event_limits limits;
  size_t body_bytes_max;
  size_t capacity = 0;
  std::unique_ptr<internal::dom_parser_implementation> parser;
  /// One bit a level of nesting.
  std::unique_ptr<uint64_t[]> levels;
  std::unique_ptr<event_facts[]> events;

  /// Makes room for a body. The room grows in doublings and stays.
  bool reserve(size_t length) {
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

  event_scan read(const uint8_t *body, size_t length, bool is_batch);
};

namespace {

event_scan faulty(const char *fault, size_t offset) { return {fault, offset, false, 0, nullptr}; }

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
event_scan located(error_code error, const uint8_t *body, size_t length) {
  const uint8_t *end = body + length, *opening = nullptr;
  for (const uint8_t *at = body; at < end;) {
    size_t offset = static_cast<size_t>(at - body);
    size_t size = sequence_length(at, end);
    if (size == 0) return faulty("is not valid UTF-8", offset);
    if (opening && *at < 0x20) return faulty("has a control character in a string", offset);
    if (*at == '"') {
      opening = opening ? nullptr : at;
    } else if (*at == '\\' && at + 1 < end && static_cast<uint8_t>(at[1]) < 0x80 && at[1] >= 0x20) {
      size = 2;
    }
    at += size;
  }
  if (opening) return faulty("has a string that is not closed", static_cast<size_t>(opening - body));
  return faulty(error == EMPTY ? "is empty" : "is not JSON", 0);
}

}  // namespace

event_scan event_scanner::read(const uint8_t *body, size_t length, bool is_batch) {
  if (length > body_bytes_max) return faulty("is too long", body_bytes_max);
  if (length == 0) return faulty("is empty", 0);
  if (length >= 3 && memcmp(body, "\xEF\xBB\xBF", 3) == 0) return faulty("begins with a byte order mark", 0);
  if (!reserve(length)) return {"needs more memory than there is", 0, true, 0, nullptr};
  if (auto error = parser->stage1(body, length, stage1_mode::regular)) return located(error, body, length);
  uint32_t *indexes = parser->structural_indexes.get();
  uint32_t count = parser->n_structural_indexes;
  if (body[indexes[0]] != '{') return faulty("is not a JSON object", indexes[0]);
  if (body[indexes[count - 1]] != '}') return faulty("does not end with its closing brace", indexes[count - 1]);
  indexes[count] = indexes[count + 1] = indexes[0];
  walker walker(body, static_cast<uint32_t>(length), indexes, count, levels.get());
  event_reader reader(walker, limits, events.get());
  bool is_read = is_batch ? reader.batch() : reader.single();
  if (is_read && walker.cursor != walker.last) is_read = walker.fail_here("goes on after its closing brace");
  if (!is_read) return faulty(walker.fault, walker.fault_offset);
  return {nullptr, 0, false, reader.count, events.get()};
}

struct event_scanner *event_scanner_make(size_t body_bytes_max, struct event_limits limits) {
  std::unique_ptr<event_scanner> scanner(new (std::nothrow) event_scanner());
  if (!scanner) return nullptr;
  scanner->limits = limits;
  scanner->body_bytes_max = body_bytes_max;
  scanner->events.reset(new (std::nothrow) event_facts[limits.batch_events_max + 1]());
  if (!scanner->events || !scanner->reserve(1)) return nullptr;
  return scanner.release();
}

void event_scanner_free(struct event_scanner *scanner) { delete scanner; }

struct event_scan event_scanner_read_batch(struct event_scanner *scanner, const void *body, size_t length) {
  return scanner->read(static_cast<const uint8_t *>(body), length, true);
}

struct event_scan event_scanner_read_event(struct event_scanner *scanner, const void *body, size_t length) {
  return scanner->read(static_cast<const uint8_t *>(body), length, false);
}
