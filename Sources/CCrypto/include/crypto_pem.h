/// Certificates and keys in PEM, by OpenSSL's libcrypto.
#ifndef CRYPTO_PEM_H
#define CRYPTO_PEM_H

#include <stddef.h>
#include <stdint.h>

/// Whether a certificate and a private key, both in PEM, belong together: 0 when they do, 1 when the certificate can't be
/// read, 2 when the key can't (or wants a passphrase), 3 when they are not of one pair.
int crypto_pem_pair(const void *certificate, size_t certificate_length, const void *key, size_t key_length);

/// What a PEM file of certificates says of itself.
typedef struct {
  /// How many it holds.
  int count;
  /// Seconds since 1970: when the first of them that ends, ends; and when the last of them that begins, begins.
  int64_t expires, begins;
  /// The first one's public key, as `sha256//` and the Base64 of its SHA-256; a string.
  char key_pin[64];
} crypto_pem_facts;

/// Reads all certificates of a PEM file. Returns 0; 1 when there is none, or one that can't be read.
int crypto_pem_certificates(const void *certificates, size_t length, crypto_pem_facts *facts);

#endif
