// The common work of all forms on a range of records. Forms differ in their Source.
#pragma once

#include "sat/filler.hpp"
#include "sat/map.hpp"

namespace sat {

template <SourceOfFields Source>
void fill_records(Model& model, Range records, bool counts, Faults& faults, bool partial) {
  Filler<Source> filler(model, counts);
  for (std::size_t i = records.first; i < records.last; ++i) {
    const auto record = static_cast<Ref>(i);
    try {
      filler.fill(record);
    } catch (const FieldError& error) {
      faults.add({.record = record, .field = error.field, .what = error.what()});
      if (!partial) return;
    }
  }
}

// One function for each form, in a file of its own.
void fill_from_chars(Model&, Range, bool, Faults&, bool);
void fill_tmk_text(Model&, Range, bool, Faults&, bool);
void fill_streams(Model&, Range, bool, Faults&, bool);
void fill_streams_imbue(Model&, Range, bool, Faults&, bool);
void fill_streams_reused(Model&, Range, bool, Faults&, bool);
void fill_spanstream(Model&, Range, bool, Faults&, bool);

}  // namespace sat
