#include "CPlatform.h"

#include <malloc.h>

void platform_map_large_memory(void) { mallopt(M_MMAP_THRESHOLD, 128 * 1024); }
