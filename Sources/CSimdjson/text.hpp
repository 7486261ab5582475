// Strings as they stand between their quotes. All of it expects text that stage 1 and the walker have let through.
#ifndef CSIMDJSON_TEXT_HPP
#define CSIMDJSON_TEXT_HPP

#include <cstddef>
#include <cstdint>

namespace text {

inline int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Four hex digits, or -1.
inline int32_t hex_quad(const uint8_t *at) {
  int a = hex_digit(at[0]), b = hex_digit(at[1]), c = hex_digit(at[2]), d = hex_digit(at[3]);
  return (a | b | c | d) < 0 ? -1 : a << 12 | b << 8 | c << 4 | d;
}

/// Where the first escape that JSON doesn't know stands, or `end`.
const uint8_t *first_bad_escape(const uint8_t *begin, const uint8_t *end);

/// Reads the escape at `at` (a backslash), moves past it and gives the scalar, or a lone surrogate. Two escapes that
/// make a pair are one.
uint32_t read_escape(const uint8_t *&at, const uint8_t *end);

/// Whether two strings are the same when unescaped.
bool same(const uint8_t *a, const uint8_t *a_end, const uint8_t *b, const uint8_t *b_end);

/// A hash of the unescaped string, for tables that live as long as one call.
uint64_t quick_hash(const uint8_t *begin, const uint8_t *end);

/// Bytes of the shortest JSON of the value in the range: no white space between tokens, no needless escape.
///
/// What must be escaped counts as its shortest escape: `\"` and `\\` 2, `\b \f \n \r \t` 2 (as `\u000A` too), other
/// control characters 6. Anything else counts as its UTF-8 would, `\/` 1, `\u0131` 2; a lone surrogate's escape 3, for
/// the replacement character that most readers put there.
size_t shortest_size(const uint8_t *begin, const uint8_t *end);

}  // namespace text

#endif
