/// What the relay needs of the processor and the C library that Swift can't reach by itself.
#ifndef CPLATFORM_H
#define CPLATFORM_H

#include <stddef.h>
#include <stdint.h>

/// CRC-32C (Castagnoli, as in iSCSI) of `length` bytes, going on from `crc` (0 to begin with).
/// Uses the processor's own instruction where there is one.
uint32_t platform_crc32c(uint32_t crc, const void *bytes, size_t length);

/// Names the calling thread, for tools that list threads; what is past 15 bytes is cut off.
void platform_name_thread(const char *name);

/// Has pieces of memory of 128 KiB and more mapped by themselves, so that the system gets each back as soon as it is
/// freed. Otherwise the C library, once a large piece was freed, takes the next ones from its heaps, and those keep what
/// a burst of large pieces needed.
void platform_map_large_memory(void);

/// When an open file was made, in nanoseconds since 1970, by its file system; 0 when that doesn't say.
int64_t platform_birth_time(int descriptor);

/// The same of the file under a name, not followed when it is a symbolic link.
int64_t platform_birth_time_of(const char *path);

/// Has the system begin to write a part of an open file to the disk, without waiting for it. A hint: where the file system
/// doesn't take it, nothing happens.
void platform_begin_writing(int descriptor, int64_t start, int64_t length);

#endif
