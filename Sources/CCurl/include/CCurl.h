/// What libcurl's C interface has that Swift can't import: variadic functions and macros.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

#endif
