#define _GNU_SOURCE
#include "PowerLossShim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static bool skips_syncs, kills_at_names, lies_about_files, lies_about_directories;
static uint64_t records, kill_after;

static void give_up(const char *why) {
  (void)!syscall(SYS_write, 2, why, strlen(why));
  _exit(99);
}

static void end_now(void) {
  syscall(SYS_kill, getpid(), SIGKILL);
  for (;;) pause();
}

static int is_end_wanted;

static void want_end(int number) {
  (void)number;
  __atomic_store_n(&is_end_wanted, 1, __ATOMIC_SEQ_CST);
  // Whoever holds the lock sees to it when he lets go of it.
  if (pthread_mutex_trylock(&mutex) == 0) end_now();
}

// On the first thread, before the program begins: it may have inherited that the signal is blocked.
__attribute__((constructor)) static void take_signal(void) {
  if (!getenv("POWER_LOSS_JOURNAL")) return;
  struct sigaction action = {.sa_handler = want_end, .sa_flags = SA_RESTART};
  sigaction(SIGUSR2, &action, NULL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void start(void) {
  const char *lie = getenv("POWER_LOSS_LIE"), *sync = getenv("POWER_LOSS_SYNC"), *kill = getenv("POWER_LOSS_KILL_AFTER");
  bool all = lie && strcmp(lie, "all") == 0;
  lies_about_files = all || (lie && strcmp(lie, "files") == 0);
  lies_about_directories = all || (lie && strcmp(lie, "directories") == 0);
  skips_syncs = sync && strcmp(sync, "skip") == 0;
  const char *kill_at = getenv("POWER_LOSS_KILL_AT");
  kills_at_names = kill_at && strcmp(kill_at, "name") == 0;
  kill_after = kill ? strtoull(kill, NULL, 10) : 0;
  const char *path = getenv("POWER_LOSS_JOURNAL");
  if (!path || !getenv("POWER_LOSS_ROOT")) return;
  int opened = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (opened < 0) give_up("power-loss shim: the journal can't be opened\n");
  journal = opened;
  power_loss_record(POWER_LOSS_STARTED, NULL, (uint64_t)getpid(), NULL, NULL, NULL, 0);
}

bool power_loss_records(void) {
  pthread_once(&once, start);
  return journal >= 0;
}

bool power_loss_skips_syncs(void) {
  pthread_once(&once, start);
  return skips_syncs;
}

bool power_loss_lies_about(const struct power_loss_identity *identity) {
  return identity->is_directory ? lies_about_directories : lies_about_files;
}

void power_loss_lock(void) { pthread_mutex_lock(&mutex); }

void power_loss_unlock(void) {
  pthread_mutex_unlock(&mutex);
  if (!__atomic_load_n(&is_end_wanted, __ATOMIC_SEQ_CST)) return;
  pthread_mutex_lock(&mutex);
  end_now();
}

// All of it with one call: a reader of the journal sees whole records, and a killed process leaves at most one in part.
static void append(struct iovec *parts, int count) {
  while (count > 0) {
    ssize_t written = syscall(SYS_writev, journal, parts, count);
    if (written < 0) {
      if (errno == EINTR) continue;
      give_up("power-loss shim: the journal can't be written\n");
    }
    while (count > 0 && (size_t)written >= parts->iov_len) {
      written -= (ssize_t)parts->iov_len;
      parts++;
      count--;
    }
    if (count > 0) {
      parts->iov_base = (char *)parts->iov_base + written;
      parts->iov_len -= (size_t)written;
    }
  }
}

uint64_t power_loss_record(enum power_loss_kind kind, const struct power_loss_identity *identity, uint64_t number,
                           const char *path, const char *other_path, const struct iovec *data, int data_count) {
  int before = errno;
  struct iovec parts[3 + 16];
  if (data_count > 16) give_up("power-loss shim: a write of more than 16 pieces\n");
  size_t path_length = path ? strlen(path) : 0, other_length = other_path ? strlen(other_path) : 0;
  size_t length = sizeof(struct power_loss_record) + path_length + other_length;
  for (int at = 0; at < data_count; at++) {
    parts[3 + at] = data[at];
    length += data[at].iov_len;
  }
  if (length > UINT32_MAX) give_up("power-loss shim: a write of more than 4 GiB\n");
  uint64_t ticket = ((uint64_t)getpid() << 32) + ++records;
  struct power_loss_record head = {
      .magic = POWER_LOSS_MAGIC,
      .length = (uint32_t)length,
      .kind = kind,
      .path_length = (uint32_t)path_length,
      .inode = identity ? identity->inode : 0,
      .born = identity ? identity->born : 0,
      .number = kind == POWER_LOSS_SYNC_BEGAN ? ticket : number,
      .other_path_length = (uint32_t)other_length,
  };
  parts[0] = (struct iovec){&head, sizeof head};
  parts[1] = (struct iovec){(void *)path, path_length};
  parts[2] = (struct iovec){(void *)other_path, other_length};
  append(parts, 3 + data_count);
  bool is_name = kind == POWER_LOSS_CREATED || kind == POWER_LOSS_MADE_DIRECTORY || kind == POWER_LOSS_RENAMED;
  // With the lock held: nobody else is between what a call did and its record.
  if (kill_after && records >= kill_after && (is_name || !kills_at_names)) end_now();
  errno = before;
  return ticket;
}

void power_loss_unsupported(const char *what) {
  power_loss_lock();
  power_loss_record(POWER_LOSS_UNSUPPORTED, NULL, 0, what, NULL, NULL, 0);
  power_loss_unlock();
}
