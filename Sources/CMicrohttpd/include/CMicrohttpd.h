/// What libmicrohttpd's C interface has that Swift can't import, variadic functions and macros, and the kernel's epoll.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

/// How a daemon is started. The callbacks get `context` as their first argument.
struct mhd_options {
  unsigned int connection_limit;
  /// Bytes of a connection's memory pool, and by how many its read buffer is kept ahead.
  size_t memory_limit, memory_increment;
  /// What sessions may agree on, in GnuTLS's words; null: connections are plain. Each session is to be given its certificate
  /// when the `connection` callback says that its connection has begun.
  const char *tls_priorities;
  void *context;
  enum MHD_Result (*handle)(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                            const char *version, const char *data, size_t *length, void **request);
  void *(*target)(void *context, const char *uri, struct MHD_Connection *connection);
  void (*completed)(void *context, struct MHD_Connection *connection, void **request,
                    enum MHD_RequestTerminationCode code);
  void (*connection)(void *context, struct MHD_Connection *connection, void **socket_context,
                     enum MHD_ConnectionNotificationCode code);
  void (*log)(void *context, const char *text);
};

/// Starts a daemon that is driven from outside (`MHD_run`), waits with epoll and lets connections be suspended. It doesn't
/// listen: it is given its connections (`MHD_add_connection`).
/// `options` must live as long as the daemon.
struct MHD_Daemon *mhd_start(const struct mhd_options *options);

/// The descriptor that becomes readable when the daemon has work.
int mhd_epoll_descriptor(struct MHD_Daemon *daemon);

/// Takes a connection that waits, as one that doesn't block and isn't handed on to other programs; -1, and `errno`, when
/// there is none.
int mhd_accept(int listen_socket, struct sockaddr *address, socklen_t *length);

/// A connection's socket.
int mhd_descriptor(struct MHD_Connection *connection);

/// A connection's TLS session, as GnuTLS has it; null when it is plain.
void *mhd_session(struct MHD_Connection *connection);

/// What the `connection` callback stored for a connection.
void *mhd_socket_context(struct MHD_Connection *connection);

/// Has `panic` called before the library ends the process.
void mhd_set_panic(void (*panic)(const char *file, unsigned int line, const char *reason));

/// Names the calling thread, as `top -H` shows it.
void mhd_name_thread(const char *name);

/// A number that changes whenever the other side of a TCP connection has taken or sent bytes; 0 for other sockets.
uint64_t mhd_socket_progress(int descriptor);

#endif
