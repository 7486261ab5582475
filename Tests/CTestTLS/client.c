#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "CTestTLS.h"

struct test_tls {
  SSL_CTX *context;
  SSL *session;
  int descriptor;
  char error[256];
};

static int descriptor_of(BIO *bio) { return *(int *)BIO_get_data(bio); }

/// Without the signal that writing to a closed connection gives.
static int put(BIO *bio, const char *bytes, int length) {
  return (int)send(descriptor_of(bio), bytes, (size_t)length, MSG_NOSIGNAL);
}

static int get(BIO *bio, char *bytes, int length) { return (int)recv(descriptor_of(bio), bytes, (size_t)length, 0); }

static long control(BIO *bio, int command, long number, void *pointer) {
  (void)bio, (void)number, (void)pointer;
  return command == BIO_CTRL_FLUSH;
}

static BIO *transport(int *descriptor) {
  static BIO_METHOD *method;
  if (!method) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "test socket");
    BIO_meth_set_write(method, put);
    BIO_meth_set_read(method, get);
    BIO_meth_set_ctrl(method, control);
  }
  BIO *bio = BIO_new(method);
  BIO_set_data(bio, descriptor);
  BIO_set_init(bio, 1);
  return bio;
}

static void remember(test_tls *tls) {
  unsigned long code = ERR_peek_error();
  if (code) ERR_error_string_n(code, tls->error, sizeof tls->error);
  ERR_clear_error();
}

test_tls *test_tls_new(int descriptor, int max_version, const char *certificate, const char *key) {
  test_tls *tls = calloc(1, sizeof *tls);
  tls->descriptor = descriptor;
  tls->context = SSL_CTX_new(TLS_client_method());
  // So that a test sees what the server says to old versions.
  SSL_CTX_set_security_level(tls->context, 0);
  SSL_CTX_set_min_proto_version(tls->context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(tls->context, max_version);
  int usable = !certificate || (SSL_CTX_use_certificate_chain_file(tls->context, certificate) == 1 &&
                                SSL_CTX_use_PrivateKey_file(tls->context, key, SSL_FILETYPE_PEM) == 1);
  tls->session = usable ? SSL_new(tls->context) : NULL;
  if (!tls->session) {
    test_tls_free(tls);
    return NULL;
  }
  BIO *bio = transport(&tls->descriptor);
  SSL_set_bio(tls->session, bio, bio);
  SSL_set_tlsext_host_name(tls->session, "localhost");
  return tls;
}

int test_tls_handshake(test_tls *tls) {
  int done = SSL_connect(tls->session);
  if (done != 1) remember(tls);
  return done == 1;
}

static long ended(test_tls *tls, int result) {
  int code = errno;
  int kind = SSL_get_error(tls->session, result);
  remember(tls);
  errno = code;
  return kind == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

long test_tls_write(test_tls *tls, const void *bytes, size_t length) {
  int result = SSL_write(tls->session, bytes, (int)length);
  return result > 0 ? result : ended(tls, result);
}

long test_tls_read(test_tls *tls, void *bytes, size_t length) {
  errno = 0;
  int result = SSL_read(tls->session, bytes, (int)length);
  return result > 0 ? result : ended(tls, result);
}

void test_tls_finish(test_tls *tls) { SSL_shutdown(tls->session); }

long test_tls_peer(test_tls *tls, unsigned char **der) {
  *der = NULL;
  X509 *certificate = SSL_get1_peer_certificate(tls->session);
  if (!certificate) return 0;
  int length = i2d_X509(certificate, NULL);
  *der = malloc((size_t)length);
  unsigned char *end = *der;
  i2d_X509(certificate, &end);
  X509_free(certificate);
  return length;
}

const char *test_tls_version(test_tls *tls) { return SSL_get_version(tls->session); }

const char *test_tls_error(test_tls *tls) { return tls->error; }

void test_tls_free(test_tls *tls) {
  if (!tls) return;
  SSL_free(tls->session);
  SSL_CTX_free(tls->context);
  free(tls);
}
