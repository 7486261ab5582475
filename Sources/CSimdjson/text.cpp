#include "text.hpp"

#include <cstring>

#include "CSimdjsonEvents.h"

namespace text {

const uint8_t *first_bad_escape(const uint8_t *begin, const uint8_t *end) {
  for (const uint8_t *at = begin; at < end;) {
    at = static_cast<const uint8_t *>(memchr(at, '\\', static_cast<size_t>(end - at)));
    if (!at) break;
    switch (at[1]) {
      case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': at += 2; break;
      case 'u':
        if (hex_quad(at + 2) < 0) return at;
        at += 6;
        break;
      default: return at;
    }
  }
  return end;
}

uint32_t read_escape(const uint8_t *&at, const uint8_t *end) {
  uint8_t c = at[1];
  at += 2;
  switch (c) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'u': break;
    default: return c;
  }
  uint32_t scalar = static_cast<uint32_t>(hex_quad(at));
  at += 4;
  if (scalar < 0xD800 || scalar > 0xDBFF || end - at < 6 || at[0] != '\\' || at[1] != 'u') return scalar;
  uint32_t low = static_cast<uint32_t>(hex_quad(at + 2));
  if (low < 0xDC00 || low > 0xDFFF) return scalar;
  at += 6;
  return 0x10000 + ((scalar - 0xD800) << 10) + (low - 0xDC00);
}

namespace {

/// Gives the bytes of a string one by one, unescaped.
class byte_reader {
 public:
  byte_reader(const uint8_t *begin, const uint8_t *end, json_surrogates surrogates = json_surrogates_kept)
      : at(begin), end(end), surrogates(surrogates) {}

  /// The next byte, or -1 at the end.
  int next() {
    if (pending_count > 0) return pending[--pending_count];
    if (at >= end) return -1;
    if (*at != '\\') return *at++;
    uint32_t scalar = read_escape(at, end);
    bool is_replaced = surrogates == json_surrogates_replaced && scalar >= 0xD800 && scalar <= 0xDFFF;
    encode(is_replaced ? 0xFFFD : scalar);
    return pending[--pending_count];
  }

 private:
  const uint8_t *at;
  const uint8_t *end;
  json_surrogates surrogates;
  uint8_t pending[4] = {};  // last byte first
  int pending_count = 0;

  void encode(uint32_t scalar) {
    if (scalar < 0x80) {
      pending[pending_count++] = static_cast<uint8_t>(scalar);
      return;
    }
    int more = scalar < 0x800 ? 1 : scalar < 0x10000 ? 2 : 3;
    for (int i = 0; i < more; i++, scalar >>= 6) {
      pending[pending_count++] = static_cast<uint8_t>(0x80 | (scalar & 0x3F));
    }
    pending[pending_count++] = static_cast<uint8_t>((0xFF00 >> (more + 1)) | scalar);
  }
};

}  // namespace

bool same(const uint8_t *a, const uint8_t *a_end, const uint8_t *b, const uint8_t *b_end) {
  byte_reader left(a, a_end), right(b, b_end);
  for (;;) {
    int x = left.next();
    if (x != right.next()) return false;
    if (x < 0) return true;
  }
}

uint64_t quick_hash(const uint8_t *begin, const uint8_t *end) {
  uint64_t hash = 0xCBF29CE484222325;
  byte_reader reader(begin, end);
  for (int byte = reader.next(); byte >= 0; byte = reader.next()) {
    hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001B3;
  }
  return hash;
}

namespace {

size_t shortest_scalar(uint32_t scalar) {
  if (scalar == '"' || scalar == '\\') return 2;
  if (scalar < 0x20) return (scalar >= '\b' && scalar <= '\n') || scalar == '\f' || scalar == '\r' ? 2 : 6;
  return scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4;
}

}  // namespace

size_t shortest_size(const uint8_t *begin, const uint8_t *end) {
  size_t size = 0;
  bool in_string = false;
  for (const uint8_t *at = begin; at < end;) {
    if (in_string && *at == '\\') {
      size += shortest_scalar(read_escape(at, end));
      continue;
    }
    if (*at == '"') in_string = !in_string;
    size += in_string || !(*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r');
    at++;
  }
  return size;
}

}  // namespace text

size_t json_text_scalars(const void *bytes, size_t length) {
  const uint8_t *at = static_cast<const uint8_t *>(bytes), *end = at + length;
  size_t count = 0;
  while (at < end) {
    if (*at == '\\') {
      text::read_escape(at, end);
      count++;
    } else {
      count += (*at & 0xC0) != 0x80;
      at++;
    }
  }
  return count;
}

size_t json_text_unescape(const void *bytes, size_t length, enum json_surrogates surrogates, void *out,
                          size_t capacity) {
  const uint8_t *begin = static_cast<const uint8_t *>(bytes);
  uint8_t *written = static_cast<uint8_t *>(out);
  text::byte_reader reader(begin, begin + length, surrogates);
  size_t count = 0;
  for (int byte = reader.next(); byte >= 0; byte = reader.next(), count++) {
    if (count < capacity) written[count] = static_cast<uint8_t>(byte);
  }
  return count;
}
