#include "events.hpp"

namespace {

template <size_t size>
bool is(const uint8_t *key, const char (&name)[size]) {
  return memcmp(key, name, size - 1) == 0;
}

/// The unescaped bytes of a key: where they are and how many. A key that is longer than any we look for has no bytes
/// here.
struct plain_key {
  const uint8_t *bytes;
  size_t length;
  uint8_t unescaped[16];

  plain_key(const uint8_t *body, const event_token &token) {
    bytes = body + token.begin + 1;
    length = token.end - token.begin - 2;
    if (unlikely(token.is_escaped)) {
      length = json_text_unescape(bytes, length, json_surrogates_kept, unescaped, sizeof unescaped);
      bytes = unescaped;
    }
  }
};

/// The event's member that a key names; NULL for one whose value nobody reads, and for `properties`.
event_token *known_member(event_facts &facts, const plain_key &key) {
  switch (key.length) {
    case 4: return is(key.bytes, "name") ? &facts.name : nullptr;
    case 7: return is(key.bytes, "user_id") ? &facts.user_id : nullptr;
    case 8: return is(key.bytes, "event_id") ? &facts.event_id : nullptr;
    case 11: return is(key.bytes, "occurred_at") ? &facts.occurred_at : nullptr;
    case 12: return is(key.bytes, "anonymous_id") ? &facts.anonymous_id : nullptr;
    default: return nullptr;
  }
}

}  // namespace

bool event_reader::batch() {
  bool has_events = false, is_closed = false;
  walk.cursor++;
  if (walk.peek() == '}') {
    walk.cursor++;
    is_closed = true;
  }
  uint32_t events_at = 0;
  while (!is_closed) {
    event_token token;
    if (!walk.key(token)) return false;
    plain_key key(walk.body, token);
    if (key.length == 6 && is(key.bytes, "events")) {
      has_events = walk.peek() == '[';
      events_at = *walk.cursor;
      if (!(has_events ? array() : walk.value(token))) return false;
    } else if (!walk.value(token)) {
      return false;
    }
    if (!separator(is_closed)) return false;
  }
  if (walk.cursor != walk.last) return walk.fail_here("goes on after its closing brace");
  if (has_events) return true;
  return walk.fail(events_at > 0 ? "has an \"events\" that is not an array" : "has no \"events\"", events_at);
}

bool event_reader::single() {
  count = 1;
  events[0] = event_facts();
  if (!object(events[0])) return false;
  finish(events[0]);
  return true;
}

bool event_reader::array() {
  count = 0;
  walk.cursor++;
  if (walk.peek() == ']') {
    walk.cursor++;
    return true;
  }
  for (;;) {
    if (!element()) return false;
    uint8_t c = walk.peek();
    if (unlikely(c != ',' && c != ']')) return walk.fail_here("has neither ',' nor ']' where one must stand");
    walk.cursor++;
    if (c == ']') return true;
  }
}

bool event_reader::element() {
  event_facts &facts = events[count < limits.batch_events_max ? count : limits.batch_events_max];
  count++;
  facts = event_facts();
  if (likely(walk.peek() == '{')) {
    if (!object(facts)) return false;
  } else {
    event_token token;
    if (!walk.value(token)) return false;
    facts.begin = token.begin;
    facts.end = token.end;
    facts.kind = token.kind;
  }
  finish(facts);
  return true;
}

bool event_reader::object(event_facts &facts) {
  facts.kind = json_object;
  facts.begin = *walk.cursor++;
  bool is_closed = walk.peek() == '}';
  if (is_closed) walk.cursor++;
  while (!is_closed) {
    if (!member(facts) || !separator(is_closed)) return false;
  }
  facts.end = walk.cursor[-1] + 1;
  return true;
}

bool event_reader::member(event_facts &facts) {
  event_token token;
  if (!walk.key(token)) return false;
  plain_key key(walk.body, token);
  event_token *known = known_member(facts, key);
  if (known) return walk.value(*known);
  if (key.length != 10 || !is(key.bytes, "properties")) return walk.value(token);
  facts.properties = event_properties();
  if (walk.peek() == '{') return properties(facts.properties);
  if (!walk.value(token)) return false;
  facts.properties.kind = token.kind;
  return true;
}

bool event_reader::properties(event_properties &facts) {
  facts.kind = json_object;
  facts.cursor = static_cast<uint32_t>(walk.last - walk.cursor);
  walk.cursor++;
  bool is_closed = walk.peek() == '}';
  if (is_closed) walk.cursor++;
  while (!is_closed) {
    event_token key, value;
    if (!walk.key(key)) return false;
    facts.count++;
    facts.has_bad_key |= key.end - key.begin == 2 || is_longer(key, limits.property_key_scalars_max);
    if (!walk.value(value)) return false;
    if (value.kind == json_string) {
      facts.has_long_string |= is_longer(value, limits.property_string_scalars_max);
    } else {
      facts.has_nested_value |= value.kind >= json_object;
    }
    if (!separator(is_closed)) return false;
  }
  return true;
}

void event_reader::finish(event_facts &facts) {
  if (unlikely(next_line_feed < facts.begin)) next_line_feed = walk.find('\n', facts.begin);
  if (unlikely(next_carriage_return < facts.begin)) next_carriage_return = walk.find('\r', facts.begin);
  // No line break can stand in a string: one in the event is one between its tokens.
  facts.has_line_breaks = next_line_feed < facts.end || next_carriage_return < facts.end;
  facts.size = facts.end - facts.begin;
  if (unlikely(facts.size > limits.event_bytes_max)) {
    facts.size = static_cast<uint32_t>(text::shortest_size(walk.body + facts.begin, walk.body + facts.end));
  }
  event_properties &properties = facts.properties;
  bool has_bad_value = properties.has_nested_value || properties.has_long_string;
  if (unlikely(has_bad_value || properties.count > limits.property_count_max) && facts.size <= limits.event_bytes_max) {
    settle_duplicates(properties);
  }
}

/// Walks an object of properties again, since keys that stand twice may make it better than it looked: it is known to
/// be JSON and to fit into an event. Ends as soon as there are too many different keys.
void event_reader::settle_duplicates(event_properties &facts) {
  struct entry {
    uint64_t hash;
    event_token key;
    bool is_nested, is_long;
  };
  constexpr size_t entries_max = 64;
  entry entries[entries_max];
  const size_t keys_max = limits.property_count_max < entries_max ? limits.property_count_max : entries_max;
  size_t used = 0;
  const uint32_t *const after = walk.cursor;
  walk.cursor = walk.last - facts.cursor + 1;
  for (bool is_closed = walk.peek() == '}'; !is_closed;) {
    event_token key, value;
    if (!walk.key(key) || !walk.value(value) || !separator(is_closed)) break;
    const uint8_t *begin = walk.body + key.begin + 1, *end = walk.body + key.end - 1;
    uint64_t hash = text::quick_hash(begin, end);
    size_t i = 0;
    for (; i < used; i++) {
      if (entries[i].hash != hash) continue;
      const event_token &other = entries[i].key;
      if (text::same(begin, end, walk.body + other.begin + 1, walk.body + other.end - 1)) break;
    }
    if (i == keys_max) {
      used = keys_max + 1;
      break;
    }
    if (i == used) used++;
    bool is_long = value.kind == json_string && is_longer(value, limits.property_string_scalars_max);
    entries[i] = {hash, key, value.kind >= json_object, is_long};
  }
  walk.cursor = after;
  facts.count = static_cast<uint32_t>(used);
  if (used > keys_max) return;
  facts.has_nested_value = facts.has_long_string = false;
  for (size_t i = 0; i < used; i++) {
    facts.has_nested_value |= entries[i].is_nested;
    facts.has_long_string |= entries[i].is_long;
  }
}
