#define _GNU_SOURCE
#include "PowerLossShim.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls on open files. Each is carried out and recorded with the lock held, so that the journal's order is the disk's.

static int open_file(int directory, const char *path, int flags, mode_t mode) {
  char below[POWER_LOSS_PATH_MAX];
  bool is_ours = power_loss_records() && power_loss_below_root(directory, path, below);
  if (!is_ours) {
    int opened = (int)syscall(SYS_openat, directory, path, flags, mode);
    power_loss_track(opened, false);
    return opened;
  }
  power_loss_lock();
  struct power_loss_identity identity;
  bool was_there = power_loss_identify(directory, path, 0, &identity);
  int opened = (int)syscall(SYS_openat, directory, path, flags, mode);
  if (opened >= 0 && power_loss_identify(opened, "", AT_EMPTY_PATH, &identity)) {
    power_loss_track(opened, true);
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    if ((flags & O_TMPFILE) == O_TMPFILE) {
      power_loss_record(POWER_LOSS_UNSUPPORTED, NULL, 0, "O_TMPFILE", NULL, NULL, 0);
    } else if (!was_there) {
      power_loss_record(POWER_LOSS_CREATED, &identity, 0, below, NULL, NULL, 0);
    } else if (writes && flags & O_TRUNC) {
      power_loss_record(POWER_LOSS_TRUNCATED, &identity, 0, NULL, NULL, NULL, 0);
    }
  }
  power_loss_unlock();
  return opened;
}

#define MODE_OF(flags, last)                             \
  mode_t mode = 0;                                       \
  if ((flags) & O_CREAT || ((flags) & O_TMPFILE) == O_TMPFILE) { \
    va_list list;                                        \
    va_start(list, last);                                \
    mode = va_arg(list, mode_t);                         \
    va_end(list);                                        \
  }

int open(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
int openat(int directory, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return open_file(directory, path, flags, mode);
}
int openat64(int directory, const char *path, int flags, ...) {
  MODE_OF(flags, flags)
  return open_file(directory, path, flags, mode);
}
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }

int close(int descriptor) {
  power_loss_track(descriptor, false);
  return (int)syscall(SYS_close, descriptor);
}

int dup(int descriptor) {
  int copy = (int)syscall(SYS_dup, descriptor);
  power_loss_track(copy, power_loss_tracks(descriptor));
  return copy;
}
int dup3(int descriptor, int copy, int flags) {
  int result = (int)syscall(SYS_dup3, descriptor, copy, flags);
  if (result >= 0) power_loss_track(copy, power_loss_tracks(descriptor));
  return result;
}
int dup2(int descriptor, int copy) { return descriptor == copy ? copy : dup3(descriptor, copy, 0); }

// False for a number that was closed unseen and is something else now.
static bool is_file(int descriptor, struct power_loss_identity *identity) {
  if (power_loss_identify(descriptor, "", AT_EMPTY_PATH, identity) && (identity->is_regular || identity->is_directory))
    return true;
  power_loss_track(descriptor, false);
  return false;
}

static bool is_zero(const char *bytes, size_t count) {
  return count > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0;
}

// Writes at an offset; -1: where the file's position is.
static ssize_t write_file(int descriptor, const struct iovec *data, int count, off_t offset) {
  if (!power_loss_tracks(descriptor)) {
    return offset < 0 ? syscall(SYS_writev, descriptor, data, count)
                      : syscall(SYS_pwritev, descriptor, data, count, offset, 0);
  }
  power_loss_lock();
  struct power_loss_identity identity;
  bool records = is_file(descriptor, &identity);
  ssize_t written = offset < 0 ? syscall(SYS_writev, descriptor, data, count)
                               : syscall(SYS_pwritev, descriptor, data, count, offset, 0);
  if (written > 0 && records) {
    int before = errno;
    uint64_t at = offset < 0 ? (uint64_t)(lseek(descriptor, 0, SEEK_CUR) - written) : (uint64_t)offset;
    errno = before;
    if (count == 1 && is_zero(data[0].iov_base, (size_t)written)) {
      uint64_t zeros = (uint64_t)written;
      struct iovec length = {&zeros, sizeof zeros};
      power_loss_record(POWER_LOSS_ZEROED, &identity, at, NULL, NULL, &length, 1);
    } else {
      struct iovec rest[16];
      int used = 0;
      size_t left = (size_t)written;
      for (; used < count && used < 16 && left > 0; used++) {
        rest[used] = data[used];
        if (rest[used].iov_len > left) rest[used].iov_len = left;
        left -= rest[used].iov_len;
      }
      if (left > 0) power_loss_record(POWER_LOSS_UNSUPPORTED, NULL, 0, "writev of many pieces", NULL, NULL, 0);
      power_loss_record(POWER_LOSS_WROTE, &identity, at, NULL, NULL, rest, used);
    }
  }
  power_loss_unlock();
  return written;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
  if (!power_loss_tracks(descriptor)) return syscall(SYS_write, descriptor, bytes, count);
  struct iovec data = {(void *)bytes, count};
  return write_file(descriptor, &data, 1, -1);
}
ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  if (!power_loss_tracks(descriptor)) return syscall(SYS_pwrite64, descriptor, bytes, count, offset);
  struct iovec data = {(void *)bytes, count};
  return write_file(descriptor, &data, 1, offset);
}
ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}
ssize_t writev(int descriptor, const struct iovec *data, int count) { return write_file(descriptor, data, count, -1); }
ssize_t pwritev(int descriptor, const struct iovec *data, int count, off_t offset) {
  return write_file(descriptor, data, count, offset);
}
ssize_t pwritev64(int descriptor, const struct iovec *data, int count, off64_t offset) {
  return write_file(descriptor, data, count, offset);
}

int ftruncate(int descriptor, off_t size) {
  if (!power_loss_tracks(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
  power_loss_lock();
  struct power_loss_identity identity;
  bool records = is_file(descriptor, &identity);
  int result = (int)syscall(SYS_ftruncate, descriptor, size);
  if (result == 0 && records) power_loss_record(POWER_LOSS_TRUNCATED, &identity, (uint64_t)size, NULL, NULL, NULL, 0);
  power_loss_unlock();
  return result;
}
int ftruncate64(int descriptor, off64_t size) { return ftruncate(descriptor, size); }

int posix_fallocate(int descriptor, off_t offset, off_t length) {
  static int (*real)(int, off_t, off_t);
  if (!real) real = (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
  if (!power_loss_tracks(descriptor)) return real(descriptor, offset, length);
  power_loss_lock();
  struct power_loss_identity identity;
  bool records = is_file(descriptor, &identity);
  int result = real(descriptor, offset, length);
  if (result == 0 && records) {
    power_loss_record(POWER_LOSS_ALLOCATED, &identity, (uint64_t)(offset + length), NULL, NULL, NULL, 0);
  }
  power_loss_unlock();
  return result;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  return posix_fallocate(descriptor, offset, length);
}

// A sync promises what was done before it began, and only once it has returned.
static int sync_file(int descriptor, long call) {
  if (!power_loss_tracks(descriptor)) {
    return power_loss_skips_syncs() ? 0 : (int)syscall(call, descriptor);
  }
  struct power_loss_identity identity;
  uint64_t ticket = 0;
  power_loss_lock();
  bool records = is_file(descriptor, &identity) && !power_loss_lies_about(&identity);
  if (records) ticket = power_loss_record(POWER_LOSS_SYNC_BEGAN, &identity, 0, NULL, NULL, NULL, 0);
  power_loss_unlock();
  int result = power_loss_skips_syncs() ? 0 : (int)syscall(call, descriptor);
  if (result == 0 && records) {
    power_loss_lock();
    power_loss_record(POWER_LOSS_SYNC_RETURNED, &identity, ticket, NULL, NULL, NULL, 0);
    power_loss_unlock();
  }
  return result;
}
int fsync(int descriptor) { return sync_file(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return sync_file(descriptor, SYS_fdatasync); }

// What the program doesn't do, and must not begin to do unseen.

static void refuse(int descriptor, const char *what) {
  if (power_loss_tracks(descriptor)) power_loss_unsupported(what);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
  if (flags & MAP_SHARED && protection & PROT_WRITE) refuse(descriptor, "mmap for writing");
  return (void *)syscall(SYS_mmap, address, length, protection, flags, descriptor, offset);
}
void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
  return mmap(address, length, protection, flags, descriptor, offset);
}
int fallocate(int descriptor, int mode, off_t offset, off_t length) {
  refuse(descriptor, "fallocate");
  return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
}
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
  refuse(to, "copy_file_range");
  return syscall(SYS_copy_file_range, from, from_at, to, to_at, length, flags);
}
ssize_t sendfile(int to, int from, off_t *offset, size_t count) {
  refuse(to, "sendfile");
  return syscall(SYS_sendfile, to, from, offset, count);
}

FILE *fopen(const char *restrict path, const char *restrict mode) {
  static FILE *(*real)(const char *, const char *);
  if (!real) real = (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
  char below[POWER_LOSS_PATH_MAX];
  if (strpbrk(mode, "wa+") && power_loss_records() && power_loss_below_root(AT_FDCWD, path, below)) {
    power_loss_unsupported("fopen for writing");
  }
  return real(path, mode);
}
FILE *fopen64(const char *restrict path, const char *restrict mode) { return fopen(path, mode); }
