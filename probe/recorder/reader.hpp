// Reads a record and prints it as the JSON lines that record.md describes. The reader trusts no
// byte: it leaves out damaged parts and names them in `limits`, and its memory stays a small
// multiple of the file's size.
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
  partial,    // truncated or damaged: the whole parts were printed
  no_record,  // the bytes are no record, or of another version
  not_taken,  // the sink refused
};

Printed print_record(std::string_view bytes, Sink& sink);

}  // namespace threadmark
