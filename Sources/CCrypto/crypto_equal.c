#include "crypto_equal.h"

#include <openssl/crypto.h>

#include "CCrypto.h"

int crypto_equal(const void *shown, size_t shown_length, const void *secret, size_t secret_length) {
  uint8_t one[32], other[32];
  int hashed = crypto_sha256(shown, shown_length, one) & crypto_sha256(secret, secret_length, other);
  int equal = hashed & (CRYPTO_memcmp(one, other, sizeof one) == 0);
  OPENSSL_cleanse(one, sizeof one);
  OPENSSL_cleanse(other, sizeof other);
  return equal;
}
