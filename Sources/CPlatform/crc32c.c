#include "CPlatform.h"

#include <pthread.h>
#include <string.h>

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void fill_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    table[0][i] = crc;
  }
  for (int slice = 1; slice < 8; slice++)
    for (int i = 0; i < 256; i++)
      table[slice][i] = (table[slice - 1][i] >> 8) ^ table[0][table[slice - 1][i] & 0xff];
}

/// Eight table look-ups for eight bytes: what runs where the processor has no such instruction.
static uint32_t crc32c_portable(uint32_t crc, const unsigned char *bytes, size_t length) {
  pthread_once(&table_once, fill_table);
  for (; length >= 8; bytes += 8, length -= 8) {
    uint32_t low, high;
    memcpy(&low, bytes, 4);
    memcpy(&high, bytes + 4, 4);
    low ^= crc;
    crc = table[7][low & 0xff] ^ table[6][low >> 8 & 0xff] ^ table[5][low >> 16 & 0xff] ^ table[4][low >> 24] ^
          table[3][high & 0xff] ^ table[2][high >> 8 & 0xff] ^ table[1][high >> 16 & 0xff] ^ table[0][high >> 24];
  }
  for (; length > 0; bytes++, length--) crc = (crc >> 8) ^ table[0][(crc ^ *bytes) & 0xff];
  return crc;
}

#if defined(__x86_64__)
#include <nmmintrin.h>

__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const unsigned char *bytes, size_t length) {
  uint64_t wide = crc;
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    wide = _mm_crc32_u64(wide, word);
  }
  crc = (uint32_t)wide;
  for (; length > 0; bytes++, length--) crc = _mm_crc32_u8(crc, *bytes);
  return crc;
}

static int has_instruction(void) { return __builtin_cpu_supports("sse4.2"); }
#define crc32c_native crc32c_sse42

#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>

static uint32_t crc32c_arm(uint32_t crc, const unsigned char *bytes, size_t length) {
  for (; length >= 8; bytes += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    crc = __crc32cd(crc, word);
  }
  for (; length > 0; bytes++, length--) crc = __crc32cb(crc, *bytes);
  return crc;
}

static int has_instruction(void) { return 1; }
#define crc32c_native crc32c_arm

#else
static int has_instruction(void) { return 0; }
#define crc32c_native crc32c_portable
#endif

uint32_t platform_crc32c(uint32_t crc, const void *bytes, size_t length) {
  crc = ~crc;
  crc = has_instruction() ? crc32c_native(crc, bytes, length) : crc32c_portable(crc, bytes, length);
  return ~crc;
}
