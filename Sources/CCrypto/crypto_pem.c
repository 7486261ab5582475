#include "crypto_pem.h"

#include <limits.h>
#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <time.h>

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

/// Seconds since 1970 of a certificate's time; 0 when it can't be read.
static int64_t seconds(const ASN1_TIME *time) {
  struct tm parts;
  if (!time || ASN1_TIME_to_tm(time, &parts) != 1) return 0;
  return (int64_t)timegm(&parts);
}

static int pin(X509 *certificate, char text[64]) {
  unsigned char *key = NULL, digest[32];
  unsigned int written = 0;
  int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key);
  int done = length > 0 && EVP_Digest(key, (size_t)length, digest, &written, EVP_sha256(), NULL) == 1 && written == 32;
  OPENSSL_free(key);
  if (!done) return 0;
  memcpy(text, "sha256//", 8);
  EVP_EncodeBlock((unsigned char *)text + 8, digest, 32);
  return 1;
}

int crypto_pem_certificates(const void *certificates, size_t length, crypto_pem_facts *facts) {
  memset(facts, 0, sizeof *facts);
  BIO *bytes = length > 0 && length <= INT_MAX ? BIO_new_mem_buf(certificates, (int)length) : NULL;
  int is_broken = bytes == NULL;
  while (!is_broken) {
    X509 *certificate = PEM_read_bio_X509(bytes, NULL, no_passphrase, NULL);
    if (!certificate) {
      // (The end, or a certificate that can't be read: only one of them says that no line begins another.)
      is_broken = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
      break;
    }
    int64_t expires = seconds(X509_get0_notAfter(certificate)), begins = seconds(X509_get0_notBefore(certificate));
    if (facts->count == 0 && !pin(certificate, facts->key_pin)) is_broken = 1;
    if (facts->count == 0 || expires < facts->expires) facts->expires = expires;
    if (facts->count == 0 || begins > facts->begins) facts->begins = begins;
    facts->count += 1;
    X509_free(certificate);
  }
  BIO_free(bytes);
  ERR_clear_error();
  return is_broken || facts->count == 0;
}
