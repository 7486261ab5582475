/// What zlib's C interface has that Swift can't import: macros.
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

#endif
