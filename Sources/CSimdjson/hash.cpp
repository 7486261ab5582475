// The hash of ids that is kept on disk: it must never change.
//
//   K1, K2, K3 = 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7
//   fold(x, y) = low 64 bits of x*y XOR high 64 bits of x*y
//   h = K1 XOR length
//   for each 16 bytes, the last ones (1 to 16 of them) filled up with zeros, as two little-endian numbers a, b:
//     h = (h rotated left by 29) XOR fold(a XOR K2, b XOR h)
//   h = fold(h XOR K3, length XOR K2); h = h XOR (h >> 32); a result of 0 is written as 1
//
// One multiplication for 16 bytes: about 6 ns for a UUID's text. It isn't keyed: who wants a collision can make one,
// and then shares that install's place in the queue.

#include <cstring>

#include "CSimdjsonEvents.h"

namespace {

constexpr uint64_t k1 = 0x9E3779B97F4A7C15, k2 = 0xD1B54A32D192ED03, k3 = 0x8CB92BA72F3D8DD7;

uint64_t fold(uint64_t x, uint64_t y) {
  unsigned __int128 product = static_cast<unsigned __int128>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t load(const uint8_t *bytes) {
  uint64_t value;
  memcpy(&value, bytes, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  value = __builtin_bswap64(value);
#endif
  return value;
}

uint64_t mixed(uint64_t h, const uint8_t *block) {
  return (h << 29 | h >> 35) ^ fold(load(block) ^ k2, load(block + 8) ^ h);
}

}  // namespace

uint64_t event_hash(const void *bytes, size_t length) {
  const uint8_t *at = static_cast<const uint8_t *>(bytes);
  uint64_t h = k1 ^ length;
  size_t left = length;
  for (; left >= 16; left -= 16, at += 16) h = mixed(h, at);
  if (left > 0) {
    uint8_t rest[16] = {};
    memcpy(rest, at, left);
    h = mixed(h, rest);
  }
  h = fold(h ^ k3, length ^ k2);
  h ^= h >> 32;
  return h == 0 ? 1 : h;
}
