/// What the HTTP server uses of GnuTLS, which libmicrohttpd speaks TLS with. A `session` is what libmicrohttpd made for a
/// connection; all about one session happens on one thread.
#ifndef CTLS_H
#define CTLS_H

#include <stddef.h>

/// What sessions may agree on: TLS 1.2 and 1.3, ciphers that authenticate, keys that nobody can work out afterwards.
extern const char *const tls_priorities;

/// A certificate with its key, and who may connect: what sessions begin with. Never changed once it is made, so that many
/// threads may use it; it must outlive the sessions that began with it.
typedef struct tls_identity tls_identity;

/// The parts of an identity, as PEM. `authorities` null: clients need no certificate.
typedef struct {
  const void *certificate;
  size_t certificate_length;
  const void *key;
  size_t key_length;
  const void *authorities;
  size_t authorities_length;
  /// A client that shows the server's own certificate is let in: it has the same key, so it is the same owner's.
  int accepts_own;
} tls_parts;

/// Makes an identity. Null when a part can't be used: `fault` is then the library's words for why, and `part` is 1 for the
/// certificate or its key, 2 for the authorities, 0 when it is neither's fault.
tls_identity *tls_identity_new(const tls_parts *parts, int *part, const char **fault);

void tls_identity_free(tls_identity *identity);

/// Has a session, before its handshake, use an identity. Returns 1; 0 when the library refuses: the session must then end.
int tls_session_begin(void *session, tls_identity *identity);

/// Notes the end of a session's handshake. To be called before it.
void tls_session_watch(void *session);

/// Whether the client has ended its handshake. Needs `tls_session_watch`.
int tls_session_is_secured(void *session);

/// Whether the client has shown a certificate; one that isn't trusted has ended the handshake.
int tls_session_has_certificate(void *session);

/// Bytes of a session that are decrypted and not read yet.
size_t tls_session_pending(void *session);

/// Sends bytes, as many as go at once; returns how many went.
size_t tls_session_send(void *session, const void *bytes, size_t length);

/// Tells the other side that nothing more comes.
void tls_session_end(void *session);

#endif
