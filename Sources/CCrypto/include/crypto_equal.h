/// Comparing secrets.
#ifndef CRYPTO_EQUAL_H
#define CRYPTO_EQUAL_H

#include <stddef.h>

/// Whether two secrets are the same. How long it takes tells nothing of where they differ, nor of how long `secret` is: the
/// SHA-256 of each is compared, all 32 bytes of it. Returns 1; 0 when they differ, or when the library refuses.
int crypto_equal(const void *shown, size_t shown_length, const void *secret, size_t secret_length);

#endif
