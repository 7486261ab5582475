/// A whole document, visited value by value: for small documents off the hot path.
#ifndef CSIMDJSON_DOCUMENT_H
#define CSIMDJSON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What stands in a document, in the document's order. Strings are unescaped UTF-8; numbers are the document's own text.
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

/// Visits the document in `bytes`. Returns NULL, or a static text that says what is wrong with it;
/// then what was visited before counts for nothing.
const char *json_document_visit(const char *bytes, size_t length, const struct json_visitor *visitor);

#ifdef __cplusplus
}
#endif

#endif
