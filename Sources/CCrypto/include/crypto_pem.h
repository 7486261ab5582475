/// Certificates and keys in PEM, by OpenSSL's libcrypto.
#ifndef CRYPTO_PEM_H
#define CRYPTO_PEM_H

#include <stddef.h>

/// Whether a certificate and a private key, both in PEM, belong together: 0 when they do, 1 when the certificate can't be
/// read, 2 when the key can't (or wants a passphrase), 3 when they are not of one pair.
int crypto_pem_pair(const void *certificate, size_t certificate_length, const void *key, size_t key_length);

#endif
