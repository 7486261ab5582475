#define _GNU_SOURCE
#include "PowerLossShim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS 65536

static atomic_bool tracked[DESCRIPTORS];

bool power_loss_tracks(int descriptor) {
  return descriptor >= 0 && descriptor < DESCRIPTORS && atomic_load(&tracked[descriptor]);
}

void power_loss_track(int descriptor, bool is_tracked) {
  if (descriptor >= 0 && descriptor < DESCRIPTORS) atomic_store(&tracked[descriptor], is_tracked);
}

static bool absolute(int directory, const char *path, char *whole) {
  if (path[0] == '/') return snprintf(whole, POWER_LOSS_PATH_MAX, "%s", path) < POWER_LOSS_PATH_MAX;
  char base[POWER_LOSS_PATH_MAX];
  if (directory == AT_FDCWD) {
    if (!getcwd(base, sizeof base)) return false;
  } else {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) return false;
    base[length] = 0;
  }
  return snprintf(whole, POWER_LOSS_PATH_MAX, "%s/%s", base, path) < POWER_LOSS_PATH_MAX;
}

bool power_loss_below_root(int directory, const char *path, char *below) {
  const char *root = getenv("POWER_LOSS_ROOT");
  if (!root || !path) return false;
  int before = errno;
  char whole[POWER_LOSS_PATH_MAX], parent[PATH_MAX];
  bool is_below = false;
  if (absolute(directory, path, whole)) {
    size_t length = strlen(whole), root_length = strlen(root);
    while (length > 1 && whole[length - 1] == '/') whole[--length] = 0;
    if (strcmp(whole, root) == 0) {
      below[0] = 0;
      is_below = true;
    } else {
      char *name = strrchr(whole, '/');
      *name++ = 0;
      // (Of `a/.` and `a/..` the whole path is resolved.)
      bool is_itself = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
      if (is_itself) name[-1] = '/';
      if (realpath(whole[0] ? whole : "/", parent) && strncmp(parent, root, root_length) == 0 &&
          (parent[root_length] == '/' || parent[root_length] == 0)) {
        const char *inner = parent[root_length] == '/' ? parent + root_length + 1 : "";
        if (is_itself) {
          snprintf(below, POWER_LOSS_PATH_MAX, "%s", inner);
        } else {
          snprintf(below, POWER_LOSS_PATH_MAX, "%s%s%s", inner, *inner ? "/" : "", name);
        }
        is_below = true;
      }
    }
  }
  errno = before;
  return is_below;
}
