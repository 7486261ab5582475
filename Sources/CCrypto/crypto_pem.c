#include "crypto_pem.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

/// Nobody is there to be asked for a passphrase.
static int no_passphrase(char *buffer, int size, int is_writing, void *context) {
  (void)buffer;
  (void)size;
  (void)is_writing;
  (void)context;
  return 0;
}

int crypto_pem_pair(const void *certificate, size_t certificate_length, const void *key, size_t key_length) {
  if (certificate_length > INT_MAX) return 1;
  if (key_length > INT_MAX) return 2;
  int result = 1;
  BIO *certificate_bytes = BIO_new_mem_buf(certificate, (int)certificate_length);
  BIO *key_bytes = BIO_new_mem_buf(key, (int)key_length);
  X509 *x509 = certificate_bytes ? PEM_read_bio_X509(certificate_bytes, NULL, no_passphrase, NULL) : NULL;
  EVP_PKEY *pkey = key_bytes ? PEM_read_bio_PrivateKey(key_bytes, NULL, no_passphrase, NULL) : NULL;
  if (x509) result = pkey ? (X509_check_private_key(x509, pkey) == 1 ? 0 : 3) : 2;
  EVP_PKEY_free(pkey);
  X509_free(x509);
  BIO_free(key_bytes);
  BIO_free(certificate_bytes);
  ERR_clear_error();
  return result;
}
