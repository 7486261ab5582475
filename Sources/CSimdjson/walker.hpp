// The grammar of RFC 8259, token by token over the structural indexes that simdjson's stage 1 leaves.
//
// Stage 1 has found every `{ } [ ] : ,` outside strings, every opening quote and the first byte of every run of other
// bytes; it has refused invalid UTF-8, control characters in strings and a string that isn't closed. All the rest is
// checked here.
#ifndef CSIMDJSON_WALKER_HPP
#define CSIMDJSON_WALKER_HPP

#include <cstring>

#include "CSimdjsonEvents.h"
#include "text.hpp"

#define inlined __attribute__((always_inline)) inline
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

class walker {
 public:
  /// The body's first structural byte must be `{`, its last `}`; `indexes[count]` and the one after it must be the
  /// first index again: then no walk runs past them, since `{` is no key and no end. `levels` has room for a bit a byte
  /// of the body.
  walker(const uint8_t *body, uint32_t length, const uint32_t *indexes, uint32_t count, uint64_t *levels)
      : body(body), length(length), cursor(indexes), last(indexes + count), levels(levels) {
    next_backslash = find('\\', 0);
  }

  const uint8_t *const body;
  const uint32_t length;
  /// The token that comes next.
  const uint32_t *cursor;
  /// Past the last token.
  const uint32_t *const last;

  const char *fault = nullptr;
  uint32_t fault_offset = 0;

  uint8_t peek() const { return body[*cursor]; }

  bool fail(const char *what, uint32_t offset) {
    fault = what;
    fault_offset = offset;
    return false;
  }

  /// The token at the cursor isn't what must stand there.
  bool fail_here(const char *what) {
    if (cursor >= last) return fail("ends too early", length);
    return fail(what, *cursor);
  }

  /// Position of a byte at or after `from`; the body's length when there is none.
  uint32_t find(char byte, uint32_t from) const {
    const void *found = from < length ? memchr(body + from, byte, length - from) : nullptr;
    return found ? static_cast<uint32_t>(static_cast<const uint8_t *>(found) - body) : length;
  }

  /// Reads the string whose opening quote is at the cursor.
  inlined bool string(event_token &token) {
    uint32_t begin = cursor[0], end = cursor[1] - 1;
    cursor++;
    while (unlikely(body[end] != '"')) {
      if (!is_space(body[end])) return fail("has a string that is not closed", begin);
      end--;
    }
    if (unlikely(end <= begin)) return fail("has a string that is not closed", begin);
    token.begin = begin;
    token.end = end + 1;
    token.kind = json_string;
    token.is_escaped = next_backslash < end;
    return likely(!token.is_escaped) || escapes(begin + 1, end);
  }

  /// Reads a colon.
  inlined bool colon() {
    if (unlikely(peek() != ':')) return fail_here("has no ':' where one must stand");
    cursor++;
    return true;
  }

  /// Reads a key and its colon. The cursor is at what should be the key.
  inlined bool key(event_token &token) {
    if (unlikely(peek() != '"')) return fail_here("has no string where a key must stand");
    return string(token) && colon();
  }

  /// Reads any value.
  inlined bool value(event_token &token) {
    uint8_t first = peek();
    if (first == '"') return string(token);
    if (first == '{' || first == '[') return container(token);
    return scalar(token);
  }

  /// Reads a number, `true`, `false` or `null`.
  inlined bool scalar(event_token &token) {
    uint32_t begin = *cursor;
    const uint8_t *at = body + begin;
    switch (*at) {
      case 't': token.kind = json_boolean; at = literal(at, "true", 4); break;
      case 'f': token.kind = json_boolean; at = literal(at, "false", 5); break;
      case 'n': token.kind = json_null; at = literal(at, "null", 4); break;
      default: token.kind = json_number; at = number(at); break;
    }
    if (unlikely(!at || !ends_scalar(*at))) return fail_here("has something that is no JSON value");
    cursor++;
    token.begin = begin;
    token.end = static_cast<uint32_t>(at - body);
    token.is_escaped = false;
    return true;
  }

  /// Reads an object or an array with all that is in it, without recursion.
  bool container(event_token &token);

 private:
  uint64_t *const levels;
  /// The first backslash that no string read so far holds.
  uint32_t next_backslash;

  static bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

  static bool ends_scalar(uint8_t c) { return c == ',' || c == '}' || c == ']' || is_space(c); }

  bool escapes(uint32_t begin, uint32_t end) {
    const uint8_t *bad = text::first_bad_escape(body + begin, body + end);
    if (bad != body + end) return fail("has an escape that JSON does not know", static_cast<uint32_t>(bad - body));
    next_backslash = find('\\', end);
    return true;
  }

  static const uint8_t *literal(const uint8_t *at, const char *word, size_t length) {
    return memcmp(at, word, length) == 0 ? at + length : nullptr;
  }

  static const uint8_t *digits(const uint8_t *at) {
    if (!is_digit(*at)) return nullptr;
    do at++; while (is_digit(*at));
    return at;
  }

  static bool is_digit(uint8_t c) { return static_cast<uint8_t>(c - '0') < 10; }

  /// Past the number; NULL when it is none. The body's last token is a `}`: no number runs past the end.
  static const uint8_t *number(const uint8_t *at) {
    if (*at == '-') at++;
    if (*at == '0') {
      at++;
    } else if (!(at = digits(at))) {
      return nullptr;
    }
    if (*at == '.' && !(at = digits(at + 1))) return nullptr;
    if (*at == 'e' || *at == 'E') {
      at++;
      if (*at == '+' || *at == '-') at++;
      at = digits(at);
    }
    return at;
  }
};

inline bool walker::container(event_token &token) {
  const uint32_t begin = *cursor;
  const uint16_t kind = peek() == '{' ? json_object : json_array;
  size_t depth = 0;
  bool in_object = false;
  event_token inner;
  for (;;) {
    // A value comes next.
    uint8_t first = peek();
    if (first == '{' || first == '[') {
      uint64_t bit = uint64_t(1) << (depth & 63);
      levels[depth >> 6] = in_object ? levels[depth >> 6] | bit : levels[depth >> 6] & ~bit;
      depth++;
      in_object = first == '{';
      cursor++;
      if (peek() != (in_object ? '}' : ']')) {
        if (in_object && !key(inner)) return false;
        continue;
      }
    } else if (!(first == '"' ? string(inner) : scalar(inner))) {
      return false;
    }
    // A value is read, or a container is empty.
    for (;;) {
      uint8_t c = peek();
      if (c == ',') {
        cursor++;
        if (in_object && !key(inner)) return false;
        break;
      }
      if (unlikely(c != (in_object ? '}' : ']'))) {
        return fail_here(in_object ? "has neither ',' nor '}' where one must stand"
                                   : "has neither ',' nor ']' where one must stand");
      }
      uint32_t end = *cursor++ + 1;
      depth--;
      in_object = levels[depth >> 6] >> (depth & 63) & 1;
      if (depth == 0) {
        token.begin = begin;
        token.end = end;
        token.kind = kind;
        token.is_escaped = false;
        return true;
      }
    }
  }
}

#endif
