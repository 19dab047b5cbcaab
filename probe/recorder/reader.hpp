// Reads a record and says it as JSON lines, as record.md describes them. It trusts no byte: what is
// damaged is left out and named in `limits`, and memory stays a small multiple of the file's size.
#pragma once

#include <string_view>

namespace threadmark {

// Takes parts of the output; false when it can take no more, which ends the printing.
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual bool take(std::string_view text) = 0;

 protected:
  ~Sink() = default;
};

enum class Printed {
  whole,
  partial,    // truncated or damaged: what is whole was printed
  no_record,  // these bytes are no record, or one of another version
  not_taken,  // the sink refused
};

Printed print_record(std::string_view bytes, Sink& sink);

}  // namespace threadmark
