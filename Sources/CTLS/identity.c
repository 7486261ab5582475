#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "CTLS.h"

const char *const tls_priorities =
    "NONE:+VERS-TLS1.3:+VERS-TLS1.2:+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305:+AEAD:"
    "+ECDHE-ECDSA:+ECDHE-RSA:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+GROUP-SECP521R1:"
    "+SIGN-ECDSA-SHA256:+SIGN-ECDSA-SHA384:+SIGN-ECDSA-SHA512:+SIGN-ECDSA-SECP256R1-SHA256:+SIGN-ECDSA-SECP384R1-SHA384:+SIGN-ECDSA-SECP521R1-SHA512:"
    "+SIGN-EDDSA-ED25519:+SIGN-RSA-PSS-SHA256:+SIGN-RSA-PSS-SHA384:+SIGN-RSA-PSS-SHA512:"
    "+SIGN-RSA-PSS-RSAE-SHA256:+SIGN-RSA-PSS-RSAE-SHA384:+SIGN-RSA-PSS-RSAE-SHA512:"
    "+SIGN-RSA-SHA256:+SIGN-RSA-SHA384:+SIGN-RSA-SHA512:+COMP-NULL:+CTYPE-X509:"
    "%SERVER_PRECEDENCE:%NO_TICKETS:%SAFE_RENEGOTIATION";

struct tls_identity {
  gnutls_certificate_credentials_t credentials;
  int wants_certificate;
};

/// Tells the client why its certificate isn't taken; the library alone would only hang up.
static int refuse(gnutls_session_t session, gnutls_alert_description_t alert) {
  gnutls_alert_send(session, GNUTLS_AL_FATAL, alert);
  // (In TLS 1.3 the client may have ended its side of the handshake already.)
  gnutls_db_set_ptr(session, NULL);
  return GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR;
}

static gnutls_alert_description_t alert_for(unsigned int status) {
  if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA)) return GNUTLS_A_UNKNOWN_CA;
  if (status & (GNUTLS_CERT_EXPIRED | GNUTLS_CERT_NOT_ACTIVATED)) return GNUTLS_A_CERTIFICATE_EXPIRED;
  if (status & GNUTLS_CERT_PURPOSE_MISMATCH) return GNUTLS_A_UNSUPPORTED_CERTIFICATE;
  return GNUTLS_A_BAD_CERTIFICATE;
}

/// What a client without a certificate is told; TLS 1.2 has no word of its own for it.
static gnutls_alert_description_t missing(gnutls_session_t session) {
  return gnutls_protocol_get_version(session) == GNUTLS_TLS1_2 ? GNUTLS_A_HANDSHAKE_FAILURE
                                                               : GNUTLS_A_CERTIFICATE_REQUIRED;
}

/// Called in the handshake, when the client has shown its certificate or that it has none: it must have one from the
/// authorities, for clients or for anything.
static int verify(gnutls_session_t session) {
  unsigned int count = 0;
  if (!gnutls_certificate_get_peers(session, &count) || count == 0) return refuse(session, missing(session));
  gnutls_typed_vdata_st wanted = {GNUTLS_DT_KEY_PURPOSE_OID, (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT, 0};
  unsigned int status = GNUTLS_CERT_INVALID;
  if (gnutls_certificate_verify_peers(session, &wanted, 1, &status) != 0) return refuse(session, GNUTLS_A_BAD_CERTIFICATE);
  return status == 0 ? 0 : refuse(session, alert_for(status));
}

/// The same, but the server's own certificate does too. (That the client has its key, the handshake proves.)
static int verify_or_own(gnutls_session_t session) {
  unsigned int count = 0;
  const gnutls_datum_t *shown = gnutls_certificate_get_peers(session, &count);
  gnutls_certificate_credentials_t credentials = NULL;
  gnutls_datum_t own = {NULL, 0};
  if (shown && count > 0 && gnutls_credentials_get(session, GNUTLS_CRD_CERTIFICATE, (void **)&credentials) == 0 &&
      gnutls_certificate_get_crt_raw(credentials, 0, 0, &own) == 0 && own.size == shown[0].size &&
      memcmp(own.data, shown[0].data, own.size) == 0)
    return 0;
  return verify(session);
}

static gnutls_datum_t datum(const void *bytes, size_t length) {
  return (gnutls_datum_t){(unsigned char *)bytes, length > UINT_MAX ? 0 : (unsigned int)length};
}

tls_identity *tls_identity_new(const tls_parts *parts, int *part, const char **fault) {
  *part = 0;
  *fault = "there is no memory for it";
  tls_identity *identity = calloc(1, sizeof *identity);
  if (!identity) return NULL;
  int code = gnutls_certificate_allocate_credentials(&identity->credentials);
  if (code == 0) {
    gnutls_datum_t certificate = datum(parts->certificate, parts->certificate_length);
    gnutls_datum_t key = datum(parts->key, parts->key_length);
    *part = 1;
    code = gnutls_certificate_set_x509_key_mem2(identity->credentials, &certificate, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
  }
  if (code >= 0 && parts->authorities) {
    gnutls_datum_t authorities = datum(parts->authorities, parts->authorities_length);
    *part = 2;
    code = gnutls_certificate_set_x509_trust_mem(identity->credentials, &authorities, GNUTLS_X509_FMT_PEM);
    if (code == 0) code = GNUTLS_E_NO_CERTIFICATE_FOUND;
    identity->wants_certificate = 1;
    gnutls_certificate_set_verify_function(identity->credentials, parts->accepts_own ? verify_or_own : verify);
  }
  if (code >= 0) return identity;
  *fault = gnutls_strerror(code);
  tls_identity_free(identity);
  return NULL;
}

void tls_identity_free(tls_identity *identity) {
  if (!identity) return;
  if (identity->credentials) gnutls_certificate_free_credentials(identity->credentials);
  free(identity);
}

int tls_session_begin(void *session, tls_identity *identity) {
  if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, identity->credentials) != 0) return 0;
  // Asked for, and required by ours: the library would only hang up on a client that has none.
  gnutls_certificate_server_set_request(session, identity->wants_certificate ? GNUTLS_CERT_REQUEST : GNUTLS_CERT_IGNORE);
  gnutls_datum_t spoken = datum("http/1.1", 8);
  return gnutls_alpn_set_protocols(session, &spoken, 1, GNUTLS_ALPN_SERVER_PRECEDENCE) == 0;
}
