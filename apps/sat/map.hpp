// sat::map: from the table of records to linked objects, in two passes. The first makes an empty
// object for each record, the second fills them; so the order of the records does not matter, and
// threads share them without a lock. frames.md explains why.
#pragma once

#include <span>
#include <string_view>

#include "model.hpp"

namespace sat {

// A range of records, filled from their texts in one of several ways. All give the same objects.
using Fill = void (*)(Model& model, Range records, bool counts, Faults& faults, bool partial);

struct Form {
  std::string_view name;
  std::string_view summary;
  Fill fill;
};

// Those that this build has; from_chars is the first.
std::span<const Form> forms();
// nullptr if there is none of this name.
const Form* find_form(std::string_view name);

struct MapOptions {
  const Form* form = nullptr;  // from_chars
  bool partial = false;        // go on after a problem, and keep the problem
  bool counted = false;        // each reference counts itself at its target, like a handle
};

// The two passes, for measurements; map() runs both.
Model make_objects(Document document, Team& team, const MapOptions& options = {});
void fill_objects(Model& model, Team& team, const MapOptions& options = {});

// Throws BadFile.
Model map(Document document, Team& team, const MapOptions& options = {});

}  // namespace sat
