#include "CSimdjsonFind.h"

#include <string.h>

const void *json_find(const void *bytes, size_t length, const void *wanted, size_t wanted_length) {
  return memmem(bytes, length, wanted, wanted_length);
}
