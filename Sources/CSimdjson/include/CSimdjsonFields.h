/// A body of any protocol, read in one pass: where its events stand, and in them the members with the names that were asked
/// for. Every byte is checked against RFC 8259, whoever reads it; nothing is copied.
#ifndef CSIMDJSON_FIELDS_H
#define CSIMDJSON_FIELDS_H

#include "CSimdjsonEvents.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  /// Names that can be asked for in one object.
  json_names_max = 16,
  /// Bytes of such a name.
  json_name_length_max = 24,
};

/// A member: `key_begin` is the opening quote of its key. Its value is `json_absent` when there is none of the name; of
/// several with one name the last counts.
struct json_field {
  struct event_token value;
  uint32_t key_begin;
};

/// One element of the body's `events`, or the body itself. A value that is no object has no fields.
struct json_element {
  uint32_t begin;
  uint32_t end;
  uint16_t kind;
  /// A line feed or carriage return stands between its tokens.
  bool has_line_breaks;
  /// Where the object has a member twice that was asked for: the later one counts, and the earlier is still there.
  bool has_repeats;
  struct json_field fields[json_names_max];
};

/// What stands in a body, or what is wrong with it.
struct json_fields {
  /// NULL when the body is JSON of the form that was asked for; else a static text that completes "the body …".
  const char *fault;
  size_t fault_offset;
  /// The fault is ours: there was no memory for a body of this length.
  bool is_out_of_memory;
  /// Elements of `events`; fields are there for the first `elements_max` of them.
  size_t count;
  const struct json_element *elements;
  /// The body's own object, with the members asked for in it.
  const struct json_element *body;
  /// The array `events`, brackets included.
  struct event_token array;
};

struct json_field_reader;

/// Makes a reader for bodies of at most `body_bytes_max` bytes; NULL without memory. One thread at a time may use it.
///
/// - body_names: what is looked for in the body's own object, with a space between two names; fields are in their order
/// - element_names: what is looked for in each element of `events`
struct json_field_reader *json_field_reader_make(
    size_t body_bytes_max, size_t elements_max, const char *body_names, const char *element_names);

void json_field_reader_free(struct json_field_reader *reader);

/// Reads `{"events":[…],…}`. Of several `events` the last counts.
///
/// At least 64 bytes past the body must be readable. The result is good until the reader is used again.
struct json_fields json_field_reader_read_batch(struct json_field_reader *reader, const void *body, size_t length);

/// Reads a body that is one event: its only element is the body's own object, with the members of both lists of names.
struct json_fields json_field_reader_read_one(struct json_field_reader *reader, const void *body, size_t length);

#ifdef __cplusplus
}
#endif

#endif
