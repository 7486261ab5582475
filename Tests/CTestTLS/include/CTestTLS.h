/// A TLS client for tests, by OpenSSL: another implementation than the server's.
#ifndef CTESTTLS_H
#define CTESTTLS_H

#include <stddef.h>

typedef struct test_tls test_tls;

/// Speaks TLS over a connected socket that blocks, and trusts any certificate. `max_version` is 0x0303 for TLS 1.2, 0 for the newest.
/// `certificate` and `key` are paths of PEM files, or null. Null when memory is short or a file can't be used.
test_tls *test_tls_new(int descriptor, int max_version, const char *certificate, const char *key);

/// Does the handshake; 1 when it is done.
int test_tls_handshake(test_tls *tls);

/// Bytes written or read; 0 when the other side has ended, -1 with errno when it failed or the socket's time is over.
long test_tls_write(test_tls *tls, const void *bytes, size_t length);
long test_tls_read(test_tls *tls, void *bytes, size_t length);

/// Tells the other side that nothing more comes.
void test_tls_finish(test_tls *tls);

/// The first certificate the server showed, as DER, to be freed with `free`; its length. 0 when there is none.
long test_tls_peer(test_tls *tls, unsigned char **der);

/// `TLSv1.3`
const char *test_tls_version(test_tls *tls);

/// The last failure in the library's words; empty when there was none.
const char *test_tls_error(test_tls *tls);

void test_tls_free(test_tls *tls);

#endif
