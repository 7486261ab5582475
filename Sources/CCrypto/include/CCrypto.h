/// What the program uses of OpenSSL's libcrypto: SHA-256, HMAC, certificates, comparing secrets.
#ifndef CCRYPTO_H
#define CCRYPTO_H

#include <stddef.h>
#include <stdint.h>

#include "CCryptoStream.h"
#include "crypto_equal.h"
#include "crypto_hmac.h"
#include "crypto_pem.h"

/// Writes the SHA-256 of `length` bytes to `digest`. Returns 1, or 0 when the library refused.
int crypto_sha256(const void *bytes, size_t length, uint8_t digest[32]);

#endif
