#include <memory>
#include <new>

#include "events.hpp"
#include "stage.hpp"

struct event_scanner {
  event_scanner(size_t body_bytes_max, event_limits limits) : limits(limits), body(body_bytes_max) {}

  event_limits limits;
  stage body;
  std::unique_ptr<event_facts[]> events;

  event_scan read(const uint8_t *bytes, size_t length, bool is_batch);
};

event_scan event_scanner::read(const uint8_t *bytes, size_t length, bool is_batch) {
  stage_fault fault = body.begin(bytes, length);
  if (fault.what) return {fault.what, fault.offset, fault.is_out_of_memory, 0, nullptr};
  walker walker = body.walk(bytes, length);
  event_reader reader(walker, limits, events.get());
  bool is_read = is_batch ? reader.batch() : reader.single();
  if (is_read && walker.cursor != walker.last) is_read = walker.fail_here("goes on after its closing brace");
  if (!is_read) return {walker.fault, walker.fault_offset, false, 0, nullptr};
  return {nullptr, 0, false, reader.count, events.get()};
}

struct event_scanner *event_scanner_make(size_t body_bytes_max, struct event_limits limits) {
  std::unique_ptr<event_scanner> scanner(new (std::nothrow) event_scanner(body_bytes_max, limits));
  if (!scanner) return nullptr;
  scanner->events.reset(new (std::nothrow) event_facts[limits.batch_events_max + 1]());
  if (!scanner->events || !scanner->body.reserve(1)) return nullptr;
  return scanner.release();
}

void event_scanner_free(struct event_scanner *scanner) { delete scanner; }

struct event_scan event_scanner_read_batch(struct event_scanner *scanner, const void *body, size_t length) {
  return scanner->read(static_cast<const uint8_t *>(body), length, true);
}

struct event_scan event_scanner_read_event(struct event_scanner *scanner, const void *body, size_t length) {
  return scanner->read(static_cast<const uint8_t *>(body), length, false);
}
