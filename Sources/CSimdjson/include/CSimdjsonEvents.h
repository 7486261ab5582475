/// A request's body, read in one pass: the range of every event and the facts the API's rules need.
///
/// Every byte is checked against RFC 8259, whoever reads it. No JSON tree is made and nothing is copied. Nesting costs
/// one bit a level, so a body may be as deep as its length allows.
#ifndef CSIMDJSON_EVENTS_H
#define CSIMDJSON_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a JSON value is.
enum {
  json_absent = 0,
  json_null,
  json_boolean,
  json_number,
  json_string,
  json_object,
  json_array,
};

/// A value in the body: `begin` is its first byte, `end` is one past its last, quotes included.
struct event_token {
  uint32_t begin;
  uint32_t end;
  uint16_t kind;
  /// A string with a backslash in it.
  bool is_escaped;
};

/// What the rules ask of `properties`. Where a key stands twice its last value counts, once.
struct event_properties {
  uint16_t kind;
  /// A key of no or more than `property_key_scalars_max` characters.
  bool has_bad_key;
  /// A value that is an object or an array.
  bool has_nested_value;
  /// A string of more than `property_string_scalars_max` characters.
  bool has_long_string;
  /// Different keys, counted exactly up to `property_count_max` + 1.
  uint32_t count;
  /// For the scanner itself: where the object begins among the structural indexes.
  uint32_t cursor;
};

/// One element of the body's `events`. Of members whose key stands twice, the last.
struct event_facts {
  uint32_t begin;
  uint32_t end;
  /// Bytes of the shortest JSON; exact when the element's own bytes are more than `event_bytes_max`, else those.
  uint32_t size;
  uint16_t kind;
  /// A line feed or carriage return stands between its tokens.
  bool has_line_breaks;
  struct event_token event_id;
  struct event_token name;
  struct event_token anonymous_id;
  struct event_token user_id;
  struct event_token occurred_at;
  struct event_properties properties;
};

/// The numbers the scanner needs to know.
struct event_limits {
  uint32_t batch_events_max;
  uint32_t event_bytes_max;
  uint32_t property_count_max;
  uint32_t property_key_scalars_max;
  uint32_t property_string_scalars_max;
};

/// What stands in a body, or what is wrong with it.
struct event_scan {
  /// NULL when the body is what it should be; else a static text that completes "the body …".
  const char *fault;
  /// Where the fault is, in bytes from the body's start.
  size_t fault_offset;
  /// The fault is ours: there was no memory for a body of this length.
  bool is_out_of_memory;
  /// How many elements there are; facts are there for the first `batch_events_max` of them.
  size_t count;
  const struct event_facts *events;
};

struct event_scanner;

/// Makes a scanner for bodies of at most `body_bytes_max` bytes; NULL without memory. One thread at a time may use it.
struct event_scanner *event_scanner_make(size_t body_bytes_max, struct event_limits limits);

void event_scanner_free(struct event_scanner *scanner);

/// Reads `{"events":[…]}`. Of several `events` the last counts. The number of events is not judged.
///
/// At least 64 bytes past the body must be readable. The result is good until the scanner is used again.
struct event_scan event_scanner_read_batch(struct event_scanner *scanner, const void *body, size_t length);

/// Reads a body that is one event: the same facts about the body's own object.
struct event_scan event_scanner_read_event(struct event_scanner *scanner, const void *body, size_t length);

// Strings, as they stand between their quotes in a body that was read without a fault.

/// How many Unicode scalars a string has; a lone surrogate's escape counts as one.
size_t json_text_scalars(const void *text, size_t length);

/// What becomes of a lone surrogate's escape.
enum json_surrogates {
  /// The three bytes that UTF-8's scheme would give it: different ones stay different.
  json_surrogates_kept,
  /// U+FFFD, so that the whole is UTF-8.
  json_surrogates_replaced,
};

/// Writes the unescaped bytes to `out` and returns how many they are: more than `capacity` when they don't fit.
size_t json_text_unescape(const void *text, size_t length, enum json_surrogates surrogates, void *out, size_t capacity);

/// The hash of some bytes that is kept on disk; see `hash.cpp`. Never 0.
uint64_t event_hash(const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
