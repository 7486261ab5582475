#include "CYAML.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

extern char **environ;

struct cyaml_reader {
  yaml_parser_t parser;
  yaml_event_t event;
  bool has_event;
};

cyaml_reader *cyaml_reader_create(const unsigned char *bytes, size_t count) {
  cyaml_reader *reader = calloc(1, sizeof *reader);
  if (!reader) return NULL;
  if (!yaml_parser_initialize(&reader->parser)) {
    free(reader);
    return NULL;
  }
  yaml_parser_set_input_string(&reader->parser, bytes, count);
  return reader;
}

void cyaml_reader_destroy(cyaml_reader *reader) {
  if (!reader) return;
  if (reader->has_event) yaml_event_delete(&reader->event);
  yaml_parser_delete(&reader->parser);
  free(reader);
}

static cyaml_event fault(const yaml_parser_t *parser) {
  cyaml_event out = {.kind = cyaml_fault, .text = parser->problem ? parser->problem : "out of memory"};
  out.length = strlen(out.text);
  out.is_encoding = parser->error == YAML_READER_ERROR;
  out.offset = parser->problem_offset;
  out.line = parser->problem_mark.line + 1;
  out.index = parser->problem_mark.index;
  out.context = parser->context;
  out.context_line = parser->context_mark.line + 1;
  return out;
}

static cyaml_event scalar(const yaml_event_t *event) {
  return (cyaml_event){
      .kind = cyaml_scalar,
      .text = (const char *)event->data.scalar.value,
      .length = event->data.scalar.length,
      .is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE,
      .has_anchor = event->data.scalar.anchor != NULL,
      .has_tag = event->data.scalar.tag != NULL,
  };
}

static cyaml_event flattened(const yaml_event_t *event) {
  switch (event->type) {
    case YAML_SCALAR_EVENT: return scalar(event);
    case YAML_ALIAS_EVENT: return (cyaml_event){.kind = cyaml_alias};
    case YAML_SEQUENCE_START_EVENT:
      return (cyaml_event){.kind = cyaml_begin_sequence,
                           .has_anchor = event->data.sequence_start.anchor != NULL,
                           .has_tag = event->data.sequence_start.tag != NULL};
    case YAML_SEQUENCE_END_EVENT: return (cyaml_event){.kind = cyaml_end_sequence};
    case YAML_MAPPING_START_EVENT:
      return (cyaml_event){.kind = cyaml_begin_mapping,
                           .has_anchor = event->data.mapping_start.anchor != NULL,
                           .has_tag = event->data.mapping_start.tag != NULL};
    case YAML_MAPPING_END_EVENT: return (cyaml_event){.kind = cyaml_end_mapping};
    case YAML_DOCUMENT_START_EVENT: return (cyaml_event){.kind = cyaml_begin_document};
    case YAML_DOCUMENT_END_EVENT: return (cyaml_event){.kind = cyaml_end_document};
    default: return (cyaml_event){.kind = cyaml_end};
  }
}

cyaml_event cyaml_reader_next(cyaml_reader *reader) {
  do {
    if (reader->has_event) yaml_event_delete(&reader->event);
    reader->has_event = false;
    if (!yaml_parser_parse(&reader->parser, &reader->event)) return fault(&reader->parser);
    reader->has_event = true;
  } while (reader->event.type == YAML_STREAM_START_EVENT);
  cyaml_event out = flattened(&reader->event);
  out.line = reader->event.start_mark.line + 1;
  return out;
}

char *const *cyaml_environment(void) { return environ; }
