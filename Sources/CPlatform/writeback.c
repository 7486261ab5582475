#define _GNU_SOURCE
#include "CPlatform.h"

#include <fcntl.h>

void platform_begin_writing(int descriptor, int64_t start, int64_t length) {
  (void)sync_file_range(descriptor, start, length, SYNC_FILE_RANGE_WRITE);
}
