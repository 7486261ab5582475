#include "crypto_hmac.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

int crypto_hmac_sha256(const void *key, size_t key_length, const void *first, size_t first_length, const void *second,
                       size_t second_length, uint8_t code[32]) {
  EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
  char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                             OSSL_PARAM_construct_end()};
  size_t written = 0;
  int done = context && EVP_MAC_init(context, key, key_length, parameters) &&
             EVP_MAC_update(context, first, first_length) && EVP_MAC_update(context, second, second_length) &&
             EVP_MAC_final(context, code, &written, 32) && written == 32;
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
  return done;
}
