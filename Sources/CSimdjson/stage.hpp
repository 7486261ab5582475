// What every reader of a body begins with: the checks on it as a whole, and simdjson's stage 1.
#ifndef CSIMDJSON_STAGE_HPP
#define CSIMDJSON_STAGE_HPP

#include <simdjson.h>

#include <memory>

#include "walker.hpp"

/// What is wrong with a body; no text: nothing.
struct stage_fault {
  const char *what = nullptr;
  size_t offset = 0;
  bool is_out_of_memory = false;
};

class stage {
 public:
  explicit stage(size_t body_bytes_max) : body_bytes_max(body_bytes_max) {}

  /// Makes room for a body. The room grows in doublings and stays.
  bool reserve(size_t length);

  /// Finds the tokens of a body that is to be an object.
  stage_fault begin(const uint8_t *body, size_t length);

  /// Walks over the tokens that were found.
  walker walk(const uint8_t *body, size_t length);

 private:
  const size_t body_bytes_max;
  size_t capacity = 0;
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  /// One bit a level of nesting.
  std::unique_ptr<uint64_t[]> levels;
};

#endif
