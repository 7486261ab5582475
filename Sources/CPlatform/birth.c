#define _GNU_SOURCE
#include "CPlatform.h"

#include <fcntl.h>
#include <sys/stat.h>

static int64_t birth_time(int descriptor, const char *path, int flags) {
  struct statx facts;
  if (statx(descriptor, path, flags, STATX_BTIME, &facts) != 0) return 0;
  if (!(facts.stx_mask & STATX_BTIME)) return 0;
  return (int64_t)facts.stx_btime.tv_sec * 1000000000 + facts.stx_btime.tv_nsec;
}

int64_t platform_birth_time(int descriptor) { return birth_time(descriptor, "", AT_EMPTY_PATH); }

int64_t platform_birth_time_of(const char *path) { return birth_time(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW); }
