/// What zlib's C interface has that Swift can't import: macros.
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

/// Makes a stream ready to inflate. `window_bits` as for `inflateInit2`.
int zlib_inflate_init(z_stream *stream, int window_bits);

/// Makes a stream ready to deflate. `window_bits` as for `deflateInit2`.
int zlib_deflate_init(z_stream *stream, int level, int window_bits);

#endif
