#include "CSimdjsonFields.h"

#include <memory>
#include <new>

#include "stage.hpp"

namespace {

/// Names with their lengths, so that a key is compared with few of them.
struct name_table {
  char names[json_names_max][json_name_length_max];
  size_t lengths[json_names_max];
  size_t count = 0;

  explicit name_table(const char *wanted) {
    while (*wanted && count < json_names_max) {
      const char *space = strchr(wanted, ' ');
      size_t length = space ? static_cast<size_t>(space - wanted) : strlen(wanted);
      if (length > json_name_length_max) length = json_name_length_max;
      memcpy(names[count], wanted, length);
      lengths[count++] = length;
      wanted = space ? space + 1 : wanted + strlen(wanted);
    }
  }

  /// The name's place; `count` when it isn't one of them.
  size_t find(const uint8_t *key, size_t length) const {
    for (size_t i = 0; i < count; i++) {
      if (lengths[i] == length && memcmp(names[i], key, length) == 0) return i;
    }
    return count;
  }
};

/// Reads objects and picks the members up that are looked for.
class field_reader {
 public:
  field_reader(walker &walk, json_element *elements, size_t elements_max)
      : walk(walk), elements(elements), elements_max(elements_max) {
    next_line_feed = walk.find('\n', 0);
    next_carriage_return = walk.find('\r', 0);
  }

  size_t count = 0;
  event_token array = event_token();

  /// Reads an object; `with`, when it isn't NULL, gets the members of `others`.
  bool object(
      json_element &element, const name_table &names, json_element *with, const name_table *others,
      const name_table *in_array) {
    element = json_element();
    element.kind = json_object;
    element.begin = *walk.cursor++;
    bool is_closed = walk.peek() == '}';
    if (is_closed) walk.cursor++;
    while (!is_closed) {
      event_token key;
      if (!walk.key(key)) return false;
      const uint8_t *bytes = walk.body + key.begin + 1;
      size_t length = key.end - key.begin - 2;
      uint8_t unescaped[json_name_length_max];
      if (unlikely(key.is_escaped)) {
        length = json_text_unescape(bytes, length, json_surrogates_kept, unescaped, sizeof unescaped);
        bytes = unescaped;
      }
      json_field field = {event_token(), key.begin};
      if (length <= json_name_length_max && in_array && length == 6 && memcmp(bytes, "events", 6) == 0) {
        if (!events(field.value, *in_array)) return false;
      } else if (!walk.value(field.value)) {
        return false;
      }
      if (length <= json_name_length_max) {
        put(field, element, names.find(bytes, length), names.count);
        if (with) put(field, *with, others->find(bytes, length), others->count);
      }
      if (!separator(is_closed)) return false;
    }
    finish(element, walk.cursor[-1] + 1);
    return true;
  }

 private:
  walker &walk;
  json_element *const elements;
  const size_t elements_max;
  uint32_t next_line_feed, next_carriage_return;

  static void put(const json_field &field, json_element &element, size_t place, size_t count) {
    if (place == count) return;
    if (element.fields[place].value.kind != json_absent) element.has_repeats = true;
    element.fields[place] = field;
  }

  bool separator(bool &is_closed) {
    uint8_t c = walk.peek();
    if (unlikely(c != ',' && c != '}')) return walk.fail_here("has neither ',' nor '}' where one must stand");
    walk.cursor++;
    is_closed = c == '}';
    return true;
  }

  bool events(event_token &token, const name_table &names) {
    count = 0;
    array = event_token();
    if (walk.peek() != '[') return walk.value(token) && (array = token, true);
    array.begin = *walk.cursor++;
    array.kind = json_array;
    if (walk.peek() == ']') {
      walk.cursor++;
    } else {
      for (;;) {
        json_element &element = elements[count < elements_max ? count : elements_max];
        count++;
        if (walk.peek() == '{') {
          if (!object(element, names, nullptr, nullptr, nullptr)) return false;
        } else {
          event_token other;
          if (!walk.value(other)) return false;
          element = json_element();
          element.begin = other.begin;
          element.kind = other.kind;
          finish(element, other.end);
        }
        uint8_t c = walk.peek();
        if (unlikely(c != ',' && c != ']')) return walk.fail_here("has neither ',' nor ']' where one must stand");
        walk.cursor++;
        if (c == ']') break;
      }
    }
    array.end = walk.cursor[-1] + 1;
    token = array;
    return true;
  }

  void finish(json_element &element, uint32_t end) {
    element.end = end;
    if (unlikely(next_line_feed < element.begin)) next_line_feed = walk.find('\n', element.begin);
    if (unlikely(next_carriage_return < element.begin)) next_carriage_return = walk.find('\r', element.begin);
    // No line break can stand in a string: one in the element is one between its tokens.
    element.has_line_breaks = next_line_feed < end || next_carriage_return < end;
  }
};

}  // namespace

struct json_field_reader {
  json_field_reader(size_t body_bytes_max, size_t elements_max, const char *body, const char *element)
      : text(body_bytes_max), elements_max(elements_max), body_names(body), element_names(element) {}

  stage text;
  const size_t elements_max;
  const name_table body_names, element_names;
  json_element body;
  /// One more than may be: the last takes what is only counted.
  std::unique_ptr<json_element[]> elements;

  json_fields read(const uint8_t *bytes, size_t length, bool is_batch) {
    stage_fault fault = text.begin(bytes, length);
    if (fault.what) return faulty(fault.what, fault.offset, fault.is_out_of_memory);
    walker walker = text.walk(bytes, length);
    field_reader reader(walker, elements.get(), elements_max);
    body = json_element();
    bool is_read = is_batch ? reader.object(body, body_names, nullptr, nullptr, &element_names)
                            : reader.object(elements[0], element_names, &body, &body_names, nullptr);
    if (is_read && walker.cursor != walker.last) is_read = walker.fail_here("goes on after its closing brace");
    if (!is_read) return faulty(walker.fault, walker.fault_offset, false);
    if (!is_batch) return {nullptr, 0, false, 1, elements.get(), &body, event_token()};
    if (reader.array.kind == json_absent) return faulty("has no \"events\"", 0, false);
    if (reader.array.kind != json_array) return faulty("has an \"events\" that is not an array", reader.array.begin, false);
    return {nullptr, 0, false, reader.count, elements.get(), &body, reader.array};
  }

  static json_fields faulty(const char *what, size_t offset, bool is_out_of_memory) {
    return {what, offset, is_out_of_memory, 0, nullptr, nullptr, event_token()};
  }
};

struct json_field_reader *json_field_reader_make(
    size_t body_bytes_max, size_t elements_max, const char *body_names, const char *element_names) {
  std::unique_ptr<json_field_reader> reader(
      new (std::nothrow) json_field_reader(body_bytes_max, elements_max, body_names, element_names));
  if (!reader) return nullptr;
  reader->elements.reset(new (std::nothrow) json_element[elements_max + 1]());
  if (!reader->elements || !reader->text.reserve(1)) return nullptr;
  return reader.release();
}

void json_field_reader_free(struct json_field_reader *reader) { delete reader; }

struct json_fields json_field_reader_read_batch(struct json_field_reader *reader, const void *body, size_t length) {
  return reader->read(static_cast<const uint8_t *>(body), length, true);
}

struct json_fields json_field_reader_read_one(struct json_field_reader *reader, const void *body, size_t length) {
  return reader->read(static_cast<const uint8_t *>(body), length, false);
}
