/// What libmicrohttpd's C interface has that Swift can't import: variadic functions and macros.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>

#endif
