/// JSON, read by simdjson, behind a C interface.
#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include "CSimdjsonDocument.h"
#include "CSimdjsonEvents.h"
#include "CSimdjsonFields.h"
#include "CSimdjsonFind.h"

#endif
