/// A whole document, visited value by value: for small documents off the hot path.
#ifndef CSIMDJSON_DOCUMENT_H
#define CSIMDJSON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What stands in a document, in the document's order. Strings are unescaped UTF-8, a lone surrogate's escape in them
/// is U+FFFD; numbers are the document's own text, of any size.
struct json_visitor {
  void *context;
  void (*begin_object)(void *context);
  void (*key)(void *context, const char *bytes, size_t length);
  void (*end_object)(void *context);
  void (*begin_array)(void *context);
  void (*end_array)(void *context);
  void (*string)(void *context, const char *bytes, size_t length);
  void (*number)(void *context, const char *bytes, size_t length);
  void (*boolean)(void *context, bool value);
  void (*null)(void *context);
};

/// Visits the document in `bytes`: an object or an array, at most 64 levels deep. Returns NULL, or a static text that
/// completes "the document …"; then what was visited before counts for nothing.
const char *json_document_visit(const char *bytes, size_t length, const struct json_visitor *visitor);

/// Whether simdjson's own parser takes the document: for tests to hold ours against. It refuses lone surrogates and
/// numbers that its types can't hold.
bool json_document_is_known_to_simdjson(const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
