// What the API's rules need to know of a body's events, picked up on the walk.
#ifndef CSIMDJSON_EVENTS_HPP
#define CSIMDJSON_EVENTS_HPP

#include "walker.hpp"

class event_reader {
 public:
  /// `events` has room for one more than `batch_events_max`: the last takes what is only counted.
  event_reader(walker &walk, const event_limits &limits, event_facts *events)
      : walk(walk), limits(limits), events(events) {
    next_line_feed = walk.find('\n', 0);
    next_carriage_return = walk.find('\r', 0);
  }

  size_t count = 0;

  /// Reads the object `{"events":[…]}`.
  bool batch();

  /// Reads the object that is an event itself.
  bool single();

 private:
  walker &walk;
  const event_limits &limits;
  event_facts *const events;
  uint32_t next_line_feed, next_carriage_return;

  bool array();
  bool element();
  bool object(event_facts &facts);
  bool member(event_facts &facts);
  bool properties(event_properties &facts);
  void finish(event_facts &facts);
  void settle_duplicates(event_properties &facts);

  /// Reads `,` or the closing brace; says in `is_closed` which of them.
  bool separator(bool &is_closed) {
    uint8_t c = walk.peek();
    if (unlikely(c != ',' && c != '}')) return walk.fail_here("has neither ',' nor '}' where one must stand");
    walk.cursor++;
    is_closed = c == '}';
    return true;
  }

  bool is_longer(const event_token &token, uint32_t scalars_max) const {
    uint32_t bytes = token.end - token.begin - 2;
    return unlikely(bytes > scalars_max) && json_text_scalars(walk.body + token.begin + 1, bytes) > scalars_max;
  }
};

#endif
