/// SHA-256 piece by piece, and random bytes, from OpenSSL's libcrypto.
#ifndef CCRYPTO_STREAM_H
#define CCRYPTO_STREAM_H

#include <stddef.h>
#include <stdint.h>

/// A hash that is being computed. Used by one thread at a time.
typedef struct crypto_hash crypto_hash;

/// Makes a hash of nothing yet; NULL when the library refuses.
crypto_hash *crypto_hash_new(void);

void crypto_hash_free(crypto_hash *hash);

/// Adds `length` bytes. Returns 1, or 0 when the library refused.
int crypto_hash_add(crypto_hash *hash, const void *bytes, size_t length);

/// Writes the SHA-256 of all that was added to `digest`, and begins anew. Returns 1, or 0 when the library refused.
int crypto_hash_end(crypto_hash *hash, uint8_t digest[32]);

/// Makes `hash` what `other` is. Returns 1, or 0 when the library refused.
int crypto_hash_copy(crypto_hash *hash, const crypto_hash *other);

/// Fills `bytes` with random ones that nobody can guess. Returns 1, or 0 when there are none to be had.
int crypto_random(void *bytes, size_t length);

#endif
