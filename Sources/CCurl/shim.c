#include "CCurl.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

/// Seconds after which a name is resolved anew.
#define DNS_CACHE_SECONDS 60L
/// Seconds after which a connection isn't used for another request, so that a changed name is followed.
#define CONNECTION_SECONDS_MAX 300L
/// Seconds of idleness after which a connection isn't used again.
#define CONNECTION_IDLE_SECONDS_MAX 110L
/// Seconds of silence before the first keep-alive probe, and between probes.
#define KEEPALIVE_IDLE_SECONDS 30L
#define KEEPALIVE_INTERVAL_SECONDS 15L
/// Bytes of a body that are handed to the socket or the TLS layer at once.
#define UPLOAD_BUFFER_BYTES (128L * 1024L)
/// The largest body that is sent by HTTP/2: what a server takes before it says more. When a larger one is answered before it is read (a 429 at
/// the edge), libcurl 7.88 waits for leave to send the rest, at full speed and without reading the answer, until the time is over.
#define HTTP2_BODY_BYTES_MAX 65535

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_result = CURLE_FAILED_INIT;

static void initialise(void) { global_result = curl_global_init(CURL_GLOBAL_DEFAULT); }

CURLM *client_multi_create(long connections_max, long idle_connections_max) {
  pthread_once(&global_once, initialise);
  if (global_result != CURLE_OK) return NULL;
  CURLM *multi = curl_multi_init();
  if (!multi) return NULL;
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections_max);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, idle_connections_max);
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  return multi;
}

int client_multi_next(CURLM *multi, void **context, CURLcode *code) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    char *private = NULL;
    *code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
    *context = private;
    return 1;
  }
  return 0;
}

CURL *client_handle_create(const char *user_agent, int may_use_proxy, char *error_text) {
  CURL *handle = curl_easy_init();
  if (!handle) return NULL;
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error_text);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, user_agent);
  // No signals to end a name's resolution with, and no waiting for a resolver that hangs.
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_SECONDS);
  curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_SECONDS);
  curl_easy_setopt(handle, CURLOPT_DNS_CACHE_TIMEOUT, DNS_CACHE_SECONDS);
  curl_easy_setopt(handle, CURLOPT_MAXLIFETIME_CONN, CONNECTION_SECONDS_MAX);
  curl_easy_setopt(handle, CURLOPT_MAXAGE_CONN, CONNECTION_IDLE_SECONDS_MAX);
  curl_easy_setopt(handle, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_BUFFER_BYTES);
  if (!may_use_proxy) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  return handle;
}

void client_handle_connect(CURL *handle, void *context, client_sink header_sink, client_sink body_sink) {
  curl_easy_setopt(handle, CURLOPT_PRIVATE, context);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, header_sink);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, body_sink);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}

/// Hands over the bytes of a PEM file; they are not copied. None: takes back what was handed over.
static CURLcode hand_over(CURL *handle, CURLoption option, const client_pem *pem) {
  if (!pem->bytes) return curl_easy_setopt(handle, option, NULL);
  struct curl_blob blob = {(void *)pem->bytes, pem->length, CURL_BLOB_NOCOPY};
  return curl_easy_setopt(handle, option, &blob);
}

/// Trusts the authorities that are given and no others; none: those that libcurl was built with.
static CURLcode trust(CURL *handle, const client_pem *authorities) {
  CURLcode code = hand_over(handle, CURLOPT_CAINFO_BLOB, authorities);
  if (code) return code;
  const char *file = authorities->path;
  const char *path = NULL;
  if (!file && !authorities->bytes) {
    char *built_in_file = NULL, *built_in_path = NULL;
    curl_easy_getinfo(handle, CURLINFO_CAINFO, &built_in_file);
    curl_easy_getinfo(handle, CURLINFO_CAPATH, &built_in_path);
    file = built_in_file;
    path = built_in_path;
  }
  code = curl_easy_setopt(handle, CURLOPT_CAINFO, file);
  return code ? code : curl_easy_setopt(handle, CURLOPT_CAPATH, path);
}

/// Knows the server by its public key alone, or by its certificate.
static CURLcode pin(CURL *handle, const char *keys) {
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, keys ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, keys ? 0L : 2L);
  return curl_easy_setopt(handle, CURLOPT_PINNEDPUBLICKEY, keys);
}

/// Shows a certificate to who asks for one.
static CURLcode show(CURL *handle, const client_pem *certificate, const client_pem *key) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_SSLCERT, certificate->path);
  if (!code) code = curl_easy_setopt(handle, CURLOPT_SSLKEY, key->path);
  if (!code) code = hand_over(handle, CURLOPT_SSLCERT_BLOB, certificate);
  return code ? code : hand_over(handle, CURLOPT_SSLKEY_BLOB, key);
}

/// Sets the method and what goes with it; whatever the request before this one has left is undone.
static CURLcode set_method(CURL *handle, const client_request *request) {
  const char *custom = NULL;
  curl_easy_setopt(handle, CURLOPT_NOBODY, 0L);
  if (request->body || strcmp(request->method, "POST") == 0) {
    curl_easy_setopt(handle, CURLOPT_POST, 1L);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(request->body ? request->body_length : 0));
    if (strcmp(request->method, "POST") != 0) custom = request->method;
  } else if (strcmp(request->method, "HEAD") == 0) {
    curl_easy_setopt(handle, CURLOPT_NOBODY, 1L);
  } else {
    curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
    if (strcmp(request->method, "GET") != 0) custom = request->method;
  }
  return curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, custom);
}

CURLcode client_transfer_prepare(CURL *handle, const client_request *request) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_URL, request->url);
  if (!code) code = set_method(handle, request);
  if (!code) code = trust(handle, &request->authorities);
  if (!code) code = pin(handle, request->pinned_keys);
  if (!code) code = show(handle, &request->client_certificate, &request->client_key);
  if (!code) code = curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, request->unix_socket);
  // (Null: what no_proxy says.)
  if (!code) code = curl_easy_setopt(handle, CURLOPT_NOPROXY, request->avoid_proxy ? "*" : NULL);
  if (code) return code;
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, request->headers);
  curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, request->timeout_ms);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, request->connect_timeout_ms);
  curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, request->fresh_connection ? 1L : 0L);
  int is_large = request->body && request->body_length > HTTP2_BODY_BYTES_MAX;
  curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, (long)(is_large ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
  // Over TLS the handshake tells whether one connection serves many requests: worth waiting for. In the clear it never does.
  curl_easy_setopt(handle, CURLOPT_PIPEWAIT, !is_large && strncmp(request->url, "https:", 6) == 0 ? 1L : 0L);
  return CURLE_OK;
}

void client_transfer_release(CURL *handle) {
  curl_easy_setopt(handle, CURLOPT_POSTFIELDS, NULL);
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, NULL);
  curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, NULL);
  curl_easy_setopt(handle, CURLOPT_SSLCERT_BLOB, NULL);
  curl_easy_setopt(handle, CURLOPT_SSLKEY_BLOB, NULL);
}

client_outcome client_transfer_outcome(CURL *handle) {
  client_outcome outcome = {0, 0, 0};
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &outcome.status);
  curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &outcome.connects);
  curl_easy_getinfo(handle, CURLINFO_HTTP_CONNECTCODE, &outcome.proxy_status);
  return outcome;
}

int client_environment_has_proxy(void) {
  static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *value = getenv(names[i]);
    if (value && *value) return 1;
  }
  return 0;
}

int client_wakeup_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int client_wakeup_wait(int descriptor, int milliseconds) {
  struct pollfd wait = {descriptor, POLLIN, 0};
  return poll(&wait, 1, milliseconds) > 0;
}

void client_thread_set_name(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0L, 0L, 0L); }
