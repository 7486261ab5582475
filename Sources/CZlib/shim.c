#include "CZlib.h"

#include <string.h>

int zlib_inflate_init(z_stream *stream, int window_bits) {
  memset(stream, 0, sizeof *stream);
  return inflateInit2(stream, window_bits);
}

int zlib_deflate_init(z_stream *stream, int level, int window_bits) {
  memset(stream, 0, sizeof *stream);
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
