/// HMAC-SHA256 from OpenSSL's libcrypto.
#ifndef CRYPTO_HMAC_H
#define CRYPTO_HMAC_H

#include <stddef.h>
#include <stdint.h>

/// Writes the HMAC-SHA256 of two pieces, one behind the other, to `code`. Returns 1, or 0 when the library refused.
int crypto_hmac_sha256(const void *key, size_t key_length, const void *first, size_t first_length, const void *second,
                       size_t second_length, uint8_t code[32]);

#endif
