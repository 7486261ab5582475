#define _GNU_SOURCE
#include "PowerLossShim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Calls that change names.

static int rename_file(int directory, const char *path, int other_directory, const char *other, unsigned flags) {
  char below[POWER_LOSS_PATH_MAX], other_below[POWER_LOSS_PATH_MAX];
  bool from = power_loss_records() && power_loss_below_root(directory, path, below);
  bool to = power_loss_records() && power_loss_below_root(other_directory, other, other_below);
  if (!from && !to) return (int)syscall(SYS_renameat2, directory, path, other_directory, other, flags);
  power_loss_lock();
  struct power_loss_identity identity;
  bool is_there = power_loss_identify(directory, path, AT_SYMLINK_NOFOLLOW, &identity);
  int result = (int)syscall(SYS_renameat2, directory, path, other_directory, other, flags);
  if (result == 0 && is_there) {
    if (from && to && !(flags & RENAME_EXCHANGE)) {
      power_loss_record(POWER_LOSS_RENAMED, &identity, 0, below, other_below, NULL, 0);
    } else {
      power_loss_record(POWER_LOSS_UNSUPPORTED, NULL, 0, "rename in or out, or exchanging", NULL, NULL, 0);
    }
  }
  power_loss_unlock();
  return result;
}

int rename(const char *path, const char *other) { return rename_file(AT_FDCWD, path, AT_FDCWD, other, 0); }
int renameat(int directory, const char *path, int other_directory, const char *other) {
  return rename_file(directory, path, other_directory, other, 0);
}
int renameat2(int directory, const char *path, int other_directory, const char *other, unsigned flags) {
  return rename_file(directory, path, other_directory, other, flags);
}

static int remove_name(int directory, const char *path, int flags) {
  char below[POWER_LOSS_PATH_MAX];
  if (!power_loss_records() || !power_loss_below_root(directory, path, below)) {
    return (int)syscall(SYS_unlinkat, directory, path, flags);
  }
  power_loss_lock();
  struct power_loss_identity identity;
  bool is_there = power_loss_identify(directory, path, AT_SYMLINK_NOFOLLOW, &identity);
  int result = (int)syscall(SYS_unlinkat, directory, path, flags);
  if (result == 0 && is_there) {
    power_loss_record(flags & AT_REMOVEDIR ? POWER_LOSS_REMOVED_DIRECTORY : POWER_LOSS_UNLINKED, &identity, 0, below,
                      NULL, NULL, 0);
  }
  power_loss_unlock();
  return result;
}

int unlink(const char *path) { return remove_name(AT_FDCWD, path, 0); }
int unlinkat(int directory, const char *path, int flags) { return remove_name(directory, path, flags); }
int rmdir(const char *path) { return remove_name(AT_FDCWD, path, AT_REMOVEDIR); }
int remove(const char *path) {
  int result = unlink(path);
  return result != 0 && errno == EISDIR ? rmdir(path) : result;
}

static int make_directory(int directory, const char *path, mode_t mode) {
  char below[POWER_LOSS_PATH_MAX];
  if (!power_loss_records() || !power_loss_below_root(directory, path, below)) {
    return (int)syscall(SYS_mkdirat, directory, path, mode);
  }
  power_loss_lock();
  int result = (int)syscall(SYS_mkdirat, directory, path, mode);
  struct power_loss_identity identity;
  if (result == 0 && power_loss_identify(directory, path, AT_SYMLINK_NOFOLLOW, &identity)) {
    power_loss_record(POWER_LOSS_MADE_DIRECTORY, &identity, 0, below, NULL, NULL, 0);
  }
  power_loss_unlock();
  return result;
}

int mkdir(const char *path, mode_t mode) { return make_directory(AT_FDCWD, path, mode); }
int mkdirat(int directory, const char *path, mode_t mode) { return make_directory(directory, path, mode); }

// What the program doesn't do, and must not begin to do unseen.

static void refuse(int directory, const char *path, const char *what) {
  char below[POWER_LOSS_PATH_MAX];
  if (power_loss_records() && power_loss_below_root(directory, path, below)) power_loss_unsupported(what);
}

int linkat(int directory, const char *path, int other_directory, const char *other, int flags) {
  refuse(other_directory, other, "link");
  return (int)syscall(SYS_linkat, directory, path, other_directory, other, flags);
}
int link(const char *path, const char *other) { return linkat(AT_FDCWD, path, AT_FDCWD, other, 0); }
int symlinkat(const char *target, int directory, const char *path) {
  refuse(directory, path, "symlink");
  return (int)syscall(SYS_symlinkat, target, directory, path);
}
int symlink(const char *target, const char *path) { return symlinkat(target, AT_FDCWD, path); }
int truncate(const char *path, off_t size) {
  refuse(AT_FDCWD, path, "truncate by path");
  return (int)syscall(SYS_truncate, path, size);
}
