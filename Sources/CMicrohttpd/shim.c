#define _GNU_SOURCE
#include "CMicrohttpd.h"

#include <gnutls/abstract.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static void log_line(void *cls, const char *format, va_list arguments) {
  const struct mhd_options *options = cls;
  char text[256];
  int length = vsnprintf(text, sizeof text, format, arguments);
  if (length >= (int)sizeof text) length = sizeof text - 1;
  while (length > 0 && text[length - 1] == '\n') text[--length] = 0;
  if (length > 0) options->log(options->context, text);
}

/// Targets are handed on as they were sent, so nothing is unescaped.
static size_t keep_escaped(void *cls, struct MHD_Connection *connection, char *text) {
  (void)cls;
  (void)connection;
  return strlen(text);
}

/// Each session is given its identity when its connection begins: one that wasn't has nothing to begin with.
static int no_certificate(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                          const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **certificate,
                          unsigned int *certificate_length, gnutls_privkey_t *key) {
  (void)session, (void)authorities, (void)authority_count, (void)algorithms, (void)algorithm_count;
  (void)certificate, (void)certificate_length, (void)key;
  return -1;
}

struct MHD_Daemon *mhd_start(const struct mhd_options *options) {
  struct MHD_OptionItem secured[] = {
      {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)options->tls_priorities},
      {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)no_certificate},
      {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
  unsigned int flags = MHD_USE_EPOLL | MHD_USE_TURBO | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  return MHD_start_daemon(
      flags | MHD_USE_NO_LISTEN_SOCKET | (options->tls_priorities ? MHD_USE_TLS : 0), 0, NULL, NULL, options->handle,
      options->context,
      // The logger comes first, so that it hears of every other option.
      MHD_OPTION_EXTERNAL_LOGGER, log_line, (void *)options,
      MHD_OPTION_ARRAY, options->tls_priorities ? secured : plain,
      MHD_OPTION_CONNECTION_LIMIT, options->connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, 0u,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->memory_limit,
      MHD_OPTION_CONNECTION_MEMORY_INCREMENT, options->memory_increment,
      // What the strict option refuses is refused by the server, since the library then sends its answer's head twice.
      MHD_OPTION_STRICT_FOR_CLIENT, 0,
      MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
      MHD_OPTION_UNESCAPE_CALLBACK, keep_escaped, (void *)NULL,
      MHD_OPTION_URI_LOG_CALLBACK, options->target, options->context,
      MHD_OPTION_NOTIFY_COMPLETED, options->completed, options->context,
      MHD_OPTION_NOTIFY_CONNECTION, options->connection, options->context,
      MHD_OPTION_END);
}

int mhd_epoll_descriptor(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info == NULL ? -1 : info->epoll_fd;
}

int mhd_accept(int listen_socket, struct sockaddr *address, socklen_t *length) {
  return accept4(listen_socket, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int mhd_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

void *mhd_session(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  return info == NULL ? NULL : info->tls_session;
}

void *mhd_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

static void (*panic_handler)(const char *, unsigned int, const char *);

static void panicked(void *cls, const char *file, unsigned int line, const char *reason) {
  (void)cls;
  panic_handler(file == NULL ? "" : file, line, reason == NULL ? "" : reason);
  abort();
}

void mhd_set_panic(void (*panic)(const char *file, unsigned int line, const char *reason)) {
  panic_handler = panic;
  MHD_set_panic_func(panicked, NULL);
}

uint64_t mhd_socket_progress(int descriptor) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  memset(&info, 0, sizeof info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
  return info.tcpi_bytes_acked + info.tcpi_bytes_received + 1;
}

void mhd_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
