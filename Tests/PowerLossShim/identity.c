#define _GNU_SOURCE
#include "PowerLossShim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// What the stat calls tell of a file: its real identity, or the one it had before the cut.

// (An inode alone doesn't tell a file: once the file is gone, another one gets it.)
struct shown {
  uint64_t inode, shown_inode;
  int64_t born, shown_born;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shown *table;
static size_t table_count;
static uint64_t generation;
static bool translates;

static int by_inode(const void *one, const void *other) {
  uint64_t left = ((const struct shown *)one)->inode, right = ((const struct shown *)other)->inode;
  return left < right ? -1 : left > right;
}

static void load(void) {
  const char *path = getenv("POWER_LOSS_IDENTITIES");
  FILE *file = path ? fopen(path, "re") : NULL;
  if (!file) return;
  unsigned long long inode, shown_inode, read_generation;
  long long born, shown_born;
  if (fscanf(file, "generation %llu", &read_generation) == 1) {
    generation = read_generation;
    translates = true;
  }
  while (fscanf(file, "%llu %lld %llu %lld", &inode, &born, &shown_inode, &shown_born) == 4) {
    table = realloc(table, (table_count + 1) * sizeof *table);
    if (!table) abort();
    table[table_count++] = (struct shown){inode, shown_inode, born, shown_born};
  }
  fclose(file);
  if (table_count > 0) qsort(table, table_count, sizeof *table, by_inode);
}

bool power_loss_translates(void) {
  pthread_once(&once, load);
  return translates;
}

static const struct shown *find(uint64_t inode) {
  struct shown key = {.inode = inode};
  return table_count > 0 ? bsearch(&key, table, table_count, sizeof key, by_inode) : NULL;
}

void power_loss_show(uint64_t *inode, int64_t *born) {
  if (!power_loss_translates()) return;
  const struct shown *found = find(*inode);
  if (found && found->born == *born) {
    *inode = found->shown_inode;
    *born = found->shown_born;
  } else {
    *inode += generation << 40;
  }
}

static long look(int descriptor, const char *path, int flags, unsigned mask, struct statx *facts) {
  return syscall(SYS_statx, descriptor, path, flags, mask, facts);
}

bool power_loss_identify(int descriptor, const char *path, int flags, struct power_loss_identity *identity) {
  int before = errno;
  struct statx facts;
  bool is_there = look(descriptor, path, flags, STATX_BASIC_STATS | STATX_BTIME, &facts) == 0;
  errno = before;
  if (!is_there) return false;
  identity->born = (int64_t)facts.stx_btime.tv_sec * 1000000000 + facts.stx_btime.tv_nsec;
  identity->inode = facts.stx_ino;
  power_loss_show(&identity->inode, &identity->born);
  identity->is_regular = S_ISREG(facts.stx_mode);
  identity->is_directory = S_ISDIR(facts.stx_mode);
  return true;
}

// Calls that tell of files.

static int status(int directory, const char *path, struct stat *facts, int flags) {
  int result = (int)syscall(SYS_newfstatat, directory, path, facts, flags);
  struct power_loss_identity identity;
  if (result == 0 && power_loss_translates() && power_loss_identify(directory, path, flags, &identity)) {
    facts->st_ino = identity.inode;
  }
  return result;
}

int stat(const char *restrict path, struct stat *restrict facts) { return status(AT_FDCWD, path, facts, 0); }
int lstat(const char *restrict path, struct stat *restrict facts) {
  return status(AT_FDCWD, path, facts, AT_SYMLINK_NOFOLLOW);
}
int fstat(int descriptor, struct stat *facts) { return status(descriptor, "", facts, AT_EMPTY_PATH); }
int fstatat(int directory, const char *restrict path, struct stat *restrict facts, int flags) {
  return status(directory, path, facts, flags);
}

// (The same structure where files' sizes have 64 bits anyway.)
int stat64(const char *restrict path, struct stat64 *restrict facts) { return stat(path, (struct stat *)facts); }
int lstat64(const char *restrict path, struct stat64 *restrict facts) { return lstat(path, (struct stat *)facts); }
int fstat64(int descriptor, struct stat64 *facts) { return fstat(descriptor, (struct stat *)facts); }
int fstatat64(int directory, const char *restrict path, struct stat64 *restrict facts, int flags) {
  return fstatat(directory, path, (struct stat *)facts, flags);
}

int statx(int directory, const char *restrict path, int flags, unsigned mask, struct statx *restrict facts) {
  int result = (int)look(directory, path, flags, mask, facts);
  struct power_loss_identity identity;
  // (Both are needed to tell the file, whatever was asked for.)
  if (result != 0 || !power_loss_translates() || !power_loss_identify(directory, path, flags, &identity)) return result;
  if (facts->stx_mask & STATX_INO) facts->stx_ino = identity.inode;
  if (facts->stx_mask & STATX_BTIME) {
    facts->stx_btime.tv_sec = identity.born / 1000000000;
    facts->stx_btime.tv_nsec = (uint32_t)(identity.born % 1000000000);
  }
  return result;
}
