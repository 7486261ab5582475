/// libyaml's event stream, flattened so that Swift can read it: no unions, one struct an event.
#ifndef CYAML_H
#define CYAML_H

#include <stdbool.h>
#include <stddef.h>

typedef enum cyaml_kind {
  cyaml_end,
  cyaml_fault,
  cyaml_scalar,
  cyaml_alias,
  cyaml_begin_sequence,
  cyaml_end_sequence,
  cyaml_begin_mapping,
  cyaml_end_mapping,
  cyaml_begin_document,
  cyaml_end_document,
} cyaml_kind;

typedef struct cyaml_event {
  cyaml_kind kind;
  /// From 1.
  size_t line;
  /// A scalar's text, not terminated by a zero; for a fault, libyaml's words. Valid until the next call.
  const char *text;
  size_t length;
  bool is_plain;
  bool has_anchor;
  bool has_tag;
  /// Of a fault: what libyaml was at when it failed, or NULL, and the line on which that began.
  const char *context;
  size_t context_line;
  /// Of a fault in the encoding: the byte's offset, and no line.
  bool is_encoding;
  size_t offset;
  /// Of a fault: the place's index in characters from the document's start.
  size_t index;
} cyaml_event;

typedef struct cyaml_reader cyaml_reader;

/// A reader over bytes that must outlive it; NULL without memory.
cyaml_reader *cyaml_reader_create(const unsigned char *bytes, size_t count);
/// The next event. After a fault or the end there is none to ask for.
cyaml_event cyaml_reader_next(cyaml_reader *reader);
void cyaml_reader_destroy(cyaml_reader *reader);

/// The process's environment: `NAME=value` strings up to a NULL. Not to be called while another thread changes it.
char *const *cyaml_environment(void);

#endif
