#include <gnutls/gnutls.h>

#include "CTLS.h"

/// Marks a session whose client has sent the message that ends its handshake.
static int finished(gnutls_session_t session, unsigned int type, unsigned int when, unsigned int incoming,
                    const gnutls_datum_t *message) {
  (void)type, (void)when, (void)message;
  // (The pointer is for a cache of sessions, and there is none.)
  if (incoming) gnutls_db_set_ptr(session, session);
  return 0;
}

void tls_session_watch(void *session) {
  gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_FINISHED, GNUTLS_HOOK_POST, finished);
}

int tls_session_is_secured(void *session) { return gnutls_db_get_ptr(session) != NULL; }

int tls_session_has_certificate(void *session) {
  unsigned int count = 0;
  return gnutls_certificate_get_peers(session, &count) != NULL && count > 0;
}

size_t tls_session_pending(void *session) { return gnutls_record_check_pending(session); }

size_t tls_session_send(void *session, const void *bytes, size_t length) {
  size_t sent = 0;
  while (sent < length) {
    ssize_t count = gnutls_record_send(session, (const char *)bytes + sent, length - sent);
    if (count == GNUTLS_E_INTERRUPTED) continue;
    if (count <= 0) break;
    sent += (size_t)count;
  }
  return sent;
}

void tls_session_end(void *session) { gnutls_bye(session, GNUTLS_SHUT_WR); }
