#include "CCryptoStream.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>

struct crypto_hash {
  EVP_MD_CTX *context;
  EVP_MD *kind;
};

crypto_hash *crypto_hash_new(void) {
  crypto_hash *hash = calloc(1, sizeof *hash);
  if (hash == NULL) return NULL;
  hash->context = EVP_MD_CTX_new();
  // Fetched once: looking it up costs as much as a small hash.
  hash->kind = EVP_MD_fetch(NULL, "SHA256", NULL);
  if (hash->context == NULL || hash->kind == NULL || EVP_DigestInit_ex(hash->context, hash->kind, NULL) != 1) {
    crypto_hash_free(hash);
    return NULL;
  }
  return hash;
}

void crypto_hash_free(crypto_hash *hash) {
  if (hash == NULL) return;
  EVP_MD_CTX_free(hash->context);
  EVP_MD_free(hash->kind);
  free(hash);
}

int crypto_hash_add(crypto_hash *hash, const void *bytes, size_t length) {
  return EVP_DigestUpdate(hash->context, bytes, length) == 1;
}

int crypto_hash_end(crypto_hash *hash, uint8_t digest[32]) {
  unsigned int written = 32;
  return EVP_DigestFinal_ex(hash->context, digest, &written) == 1 && written == 32 &&
         EVP_DigestInit_ex(hash->context, NULL, NULL) == 1;
}

int crypto_hash_copy(crypto_hash *hash, const crypto_hash *other) {
  return EVP_MD_CTX_copy_ex(hash->context, other->context) == 1;
}

int crypto_random(void *bytes, size_t length) {
  unsigned char *at = bytes;
  while (length > 0) {
    int part = length < 4096 ? (int)length : 4096;
    if (RAND_bytes(at, part) != 1) return 0;
    at += part;
    length -= (size_t)part;
  }
  return 1;
}
