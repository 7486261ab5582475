/// Finds bytes in bytes.
#ifndef CSIMDJSON_FIND_H
#define CSIMDJSON_FIND_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Where `wanted` first stands in `bytes`; NULL when it doesn't.
const void *json_find(const void *bytes, size_t length, const void *wanted, size_t wanted_length);

#ifdef __cplusplus
}
#endif

#endif
