/// What libcurl's C interface has that Swift can't import: variadic functions and macros.
///
/// A handle is set up once (`client_handle_create`) and prepared for each request (`client_transfer_prepare`), so that a request costs
/// one call here and not one per option.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <stddef.h>

/// Takes bytes of an answer; returns how many it took. Fewer than `size * count` end the transfer.
typedef size_t (*client_sink)(char *bytes, size_t size, size_t count, void *context);

/// A PEM file: its path, or what is in it. Both null: none.
typedef struct {
  const char *path;
  const void *bytes;
  size_t length;
} client_pem;

/// One request. The strings are copied by libcurl; `headers`, `body` and the bytes of PEM files must live until the transfer
/// has ended.
typedef struct {
  const char *url;
  const char *method;
  struct curl_slist *headers;
  /// Null: no body.
  const void *body;
  long long body_length;
  long timeout_ms;
  long connect_timeout_ms;
  /// None: the authorities that libcurl was built to trust.
  client_pem authorities;
  /// Public keys, `sha256//` and Base64 each, with a semicolon between them: the server must have one of these, and nothing
  /// else of its certificate counts. Null: its certificate is verified.
  const char *pinned_keys;
  /// Both or neither.
  client_pem client_certificate;
  client_pem client_key;
  /// Null: connect to the URL's host.
  const char *unix_socket;
  /// Don't take a connection that is open already.
  int fresh_connection;
  /// Connect straight to the host, whatever proxy the environment names.
  int avoid_proxy;
} client_request;

/// What is known of a transfer that has ended.
typedef struct {
  long status;
  /// Connections that were opened for it; 0: an open one was used.
  long connects;
  /// The answer of a proxy to CONNECT; 0: none.
  long proxy_status;
} client_outcome;

/// Makes the set of all transfers and connections. Null when memory is short or libcurl can't be initialised.
CURLM *client_multi_create(long connections_max, long idle_connections_max);

/// Takes the next transfer that has ended off the list: its handle's context, and how it ended. Returns 0 when there is none.
int client_multi_next(CURLM *multi, void **context, CURLcode *code);

/// Makes a handle, for one transfer at a time. Null when memory is short.
///
/// `may_use_proxy`: look for one in the environment. `error_text` has CURL_ERROR_SIZE bytes and lives as long as the handle.
CURL *client_handle_create(const char *user_agent, int may_use_proxy, char *error_text);

/// Says where the answers of a handle go: the status and header lines, one a call, and the body.
/// `context` is handed to both, and given back by `client_multi_next`.
void client_handle_connect(CURL *handle, void *context, client_sink header_sink, client_sink body_sink);

/// Makes a handle ready for a request. The handle must not be in a multi.
CURLcode client_transfer_prepare(CURL *handle, const client_request *request);

/// Lets a handle forget the pointers of the last request.
void client_transfer_release(CURL *handle);

client_outcome client_transfer_outcome(CURL *handle);

/// Whether any of the variables is set that libcurl takes a proxy from.
int client_environment_has_proxy(void);

/// Makes a descriptor by which one thread wakes another that waits for it; -1 with errno when it can't.
int client_wakeup_create(void);

/// Waits for such a descriptor alone; 1 when it was signalled.
int client_wakeup_wait(int descriptor, int milliseconds);

/// Names the calling thread, by the name's first 15 bytes.
void client_thread_set_name(const char *name);

#endif
