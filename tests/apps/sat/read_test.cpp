// Framing, headers, numbers and refusals: sat::read and sat::map on texts in memory.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "sat/characters.hpp"
#include "sat/verify.hpp"
#include "sat/write.hpp"
#include "small.hpp"

namespace {

using sat_test::document_of;
using sat_test::kHeader;
using sat_test::kRecords;
using sat_test::model_of;
using sat_test::replaced;
using sat_test::small_file;

// The problem for which sat::map refuses the text.
sat::Problem refused(std::string_view text) {
  try {
    const sat::Model model = model_of(text);
    const std::vector<sat::Problem> wrong = sat::verify(model);
    if (!wrong.empty()) return wrong.front();
  } catch (const sat::BadFile& error) {
    return error.problem;
  }
  ADD_FAILURE() << "not refused: " << text.substr(0, 2000);
  return {};
}

std::string minus(int number) {
  std::string text(1, '-');
  text += std::to_string(number);
  return text;
}

void expect_place(const sat::Problem& problem, std::int64_t record, const char* field,
                  const char* what) {
  EXPECT_EQ(problem.record, record) << sentence(problem);
  EXPECT_EQ(problem.field, field) << sentence(problem);
  EXPECT_NE(problem.what.find(what), std::string::npos) << sentence(problem);
}

TEST(Read, understands_every_field_of_the_small_file) {
  const sat::Model model = model_of(small_file());
  ASSERT_EQ(model.size(), 20U);
  EXPECT_TRUE(sat::verify(model, 100).empty());
  EXPECT_EQ(model.document.header.product, "tmk test");
  EXPECT_EQ(model.get<sat::Body>(0).lump, 2U);
  EXPECT_EQ(model.get<sat::Attribute>(1).rest, "@9 a # b } { @0  ");
  EXPECT_EQ(model.get<sat::Face>(4).containment, sat::Choice::kFirst);
  EXPECT_EQ(model.get<sat::Edge>(9).convexity, "unknown");
  EXPECT_EQ(model.get<sat::Edge>(9).end_parameter, 1.7976931348623157e308);
  EXPECT_EQ(model.get<sat::Point>(17).position.z, -25.39999999999999858);
  EXPECT_EQ(model.get<sat::Intcurve>(15).subtype, 3U);
  EXPECT_TRUE(sat::same(model.get<sat::Intcurve>(15).range.high, sat::kInfinite));
  EXPECT_EQ(model.kinds[18], sat::Kind::kUnknown);
  ASSERT_EQ(model.subtypes.size(), 4U);
  EXPECT_EQ(model.subtypes[2].name, "offsur");
  EXPECT_EQ(model.subtypes[3].text, "plane 0 0 0 ");
  const sat::Nurbs& surface = *model.subtypes[0].nurbs;
  EXPECT_EQ(surface.poles.size(), 12U);
  EXPECT_TRUE(sat::same(surface.poles[5], -0.0));
  EXPECT_EQ(surface.poles[8], 2.5e-308);
}

TEST(Read, refuses_every_beginning_of_a_file_with_a_line) {
  const std::string whole = small_file();
  const std::size_t end = whole.find(sat_test::kMark) + sat_test::kMark.size();
  for (std::size_t size = 0; size < end; ++size) {
    const sat::Problem problem = refused(std::string_view(whole).substr(0, size));
    EXPECT_FALSE(problem.what.empty());
    EXPECT_TRUE(problem.line > 0 || size == 0) << size << ": " << sentence(problem);
  }
  EXPECT_NO_THROW(model_of(whole.substr(0, end)));
}

TEST(Read, gives_what_it_can_of_every_beginning_and_marks_it) {
  const std::string whole = small_file();
  for (std::size_t size = kHeader.size(); size < whole.find(sat_test::kMark); ++size) {
    const sat::Model model = model_of(std::string_view(whole).substr(0, size), {.partial = true});
    EXPECT_FALSE(model.problems.empty()) << size;
    sat::verify(model, 100);
  }
}

TEST(Read, frames_alike_with_any_threads_where_strings_look_like_record_ends) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 4; ++round) {
    std::string text(kHeader);
    while (text.size() < 900'000) {
      std::string inside;
      const std::size_t size = random() % (round == 3 ? 200'000 : 300);
      while (inside.size() < size) inside += random() % 3 == 0 ? "#\n body $-1 #\n" : " x{ @9 ";
      text += "a-attrib $-1 -1 $-1 $-1 $-1 { s @" + std::to_string(inside.size()) + " " + inside +
              " } #\n";
    }
    text += "End-of-ACIS-data";
    const sat::Document one = document_of(text, 1);
    const sat::Document three = document_of(text, 3);
    ASSERT_EQ(one.frames.size(), three.frames.size());
    for (std::size_t i = 0; i < one.frames.size(); ++i) {
      ASSERT_EQ(one.frames[i].begin, three.frames[i].begin);
      ASSERT_EQ(one.frames[i].size, three.frames[i].size);
      ASSERT_EQ(one.frames[i].subtypes, i);
      ASSERT_EQ(three.frames[i].subtypes, i);
    }
  }
}

TEST(Read, finds_a_record_that_does_not_end_with_any_threads) {
  std::string text(kHeader);
  for (int i = 0; i < 20'000; ++i) text += "point $-1 -1 $-1 0 0 0 #\n";
  text += "point $-1 -1 $-1 0 0 0";
  for (const unsigned threads : {1U, 3U}) {
    try {
      document_of(text, threads);
      ADD_FAILURE();
    } catch (const sat::BadFile& error) {
      expect_place(error.problem, 20'000, "end", "within this record");
      EXPECT_EQ(error.problem.line, 20'004U);
    }
  }
}

TEST(Read, takes_the_forms_of_headers) {
  const std::string records = std::string(kRecords) + "End-of-ASM-data";
  const sat::Document oda = document_of(
      "700 0 1 0 \r\n@33 Open Design Alliance ACIS Builder @8 ACIS 7.0 @3 now \r\n"
      "25.399999999999999 1e-006 1e-010 \r\n" +
      records);
  EXPECT_TRUE(oda.header.at_signs);
  EXPECT_EQ(oda.header.product, "Open Design Alliance ACIS Builder");
  EXPECT_EQ(unit_name(oda.header), "inch");
  const sat::Document broken_date =
      document_of("700 0 1 0\n3 PRO 8 ACIS 7.0 6 \nSat M \n-1 1e-6 1e-10\n" + records);
  EXPECT_EQ(broken_date.header.date, "\nSat M");
  EXPECT_EQ(unit_name(broken_date.header), "not known");
  const sat::Document key =
      document_of("2600 0 1 0\n3 PRO 8 ACIS 7.0 3 now\n304.8 1e-6 1e-10\nT @5 # $ {\n" + records);
  EXPECT_EQ(key.header.key, "# $ {");
  EXPECT_EQ(key.frames.size(), 20U);
  const sat::Document wrong =
      document_of("700 0 1 0\n17 Test 12 ACIS 33.0.1 NT 24 now\n1 1e-6 1e-10\n" + records);
  EXPECT_EQ(wrong.header.names_line, "17 Test 12 ACIS 33.0.1 NT 24 now");
  EXPECT_EQ(wrong.frames.size(), 20U);
  const sat::Document empty =
      document_of("20800 20 1 0\n0  8 ACIS 7.0 0\n1 1e-6 1e-10\n" + std::string(kRecords));
  EXPECT_EQ(empty.header.names_line, "");
  EXPECT_EQ(empty.header.kernel, "ACIS 7.0");
  EXPECT_EQ(empty.header.date, "");
  EXPECT_EQ(unit_name(empty.header), "millimetre");
}

TEST(Read, needs_no_end_mark_where_the_number_of_records_is_given) {
  const std::string counted = replaced(std::string(kHeader), "700 0", "700 20");
  EXPECT_EQ(document_of(counted + std::string(kRecords)).frames.size(), 20U);
  expect_place(refused(replaced(counted, "20", "21") + std::string(kRecords)), -1,
               "number of records", "the header says 21, and the file has 20");
  expect_place(refused(replaced(std::string(kHeader), "0 1 0", "0 21 0") + std::string(kRecords) +
                       "End-of-ACIS-data"),
               -1, "number of entities", "the header says 21");
}

TEST(Read, takes_the_numbers_that_records_have) {
  const auto numbered = [](std::initializer_list<int> numbers) {
    std::string text(kHeader);
    for (const int each : numbers) {
      text += minus(each) + " vertex $-1 -1 $-1 $-1 $" + std::to_string(each + 1) + " #\n" +
              minus(each + 1) + " point $-1 -1 $-1 0 0 " + std::to_string(each) + " #\n";
    }
    return text + "End-of-ACIS-data";
  };
  for (const auto& numbers :
       {std::initializer_list<int>{0, 2, 4}, {1, 3, 5}, {75, 3, 2000000000}}) {
    const sat::Model model = model_of(numbered(numbers));
    EXPECT_EQ(model.get<sat::Vertex>(2).point, 3U);
    EXPECT_EQ(model.numbers.of(4), *(numbers.end() - 1));
    std::string why;
    EXPECT_EQ(first_difference(model.document, document_of(sat::write(model)), why), sat::kNull)
        << why;
  }
  expect_place(refused(replaced(numbered({0, 2}), "-2 vertex", "-9223372036854775808 vertex")), 2,
               "number", "a record number such as -7 is expected");
  expect_place(refused(numbered({7, 3, 7})), 7, "number", "an earlier record has the same");
  expect_place(refused(replaced(numbered({0, 2}), "-2 vertex", "vertex")), 2, "number",
               "a record number such as -7 is expected");
}

TEST(Read, skips_a_history_and_the_records_in_it) {
  const std::string history =
      "Begin-of-ACIS-History-Data\nhistory_stream 1 2 0 1 $0 $1 $2 $-1 #\n"
      "End-of-ACIS-History-Section\nbody $99 -1 $-1 $-1 $-1 $-1 #\n";
  const std::string text = std::string(kHeader) + std::string(kRecords) + history;
  const sat::Model model = model_of(text + "End-of-ACIS-data\n");
  EXPECT_TRUE(model.document.history);
  EXPECT_EQ(model.size(), 20U);
  EXPECT_NE(refused(text).what.find("within the history"), std::string::npos);
  // A record may end right before the mark.
  for (const char* const last : {"End-of-ACIS-History-Section#", "a $-1 #"}) {
    const sat::Model tight = model_of(text + last + "End-of-ACIS-data\n");
    EXPECT_EQ(tight.document.mark, "End-of-ACIS-data");
    std::string why;
    EXPECT_EQ(first_difference(tight.document, document_of(sat::write(tight)), why), sat::kNull)
        << why;
  }
}

TEST(Read, reads_versions_before_references_had_dollars_and_logicals_words) {
  const std::string text =
      "105 0 1 0\nbody -1 1 -1 -1 #\nlump -1 -1 2 0 #\nshell -1 -1 -1 3 1 #\n"
      "face -1 -1 -1 2 -1 4 1 0 #\nplane-surface -1 0 0 1 0 0 1 #\nEnd-of-ACIS-data\n";
  const sat::Model model = model_of(text);
  EXPECT_FALSE(model.document.dollars);
  EXPECT_EQ(model.get<sat::Shell>(2).face, 3U);
  EXPECT_EQ(model.get<sat::Face>(3).surface, 4U);
  EXPECT_EQ(model.get<sat::Face>(3).sense, sat::Choice::kSecond);
  EXPECT_EQ(model.get<sat::Plane>(4).normal.z, 1);
  std::string why;
  EXPECT_EQ(first_difference(model.document, document_of(sat::write(model)), why), sat::kNull)
      << why;
}

TEST(Read, reads_versions_before_strings_had_an_at_sign) {
  const std::string text =
      "500 0 1 0\n1 a 1 b 1 c\n1 1e-6 1e-10\nedge $-1 $1 0 $1 1 $-1 $-1 1 7 unknown #\n"
      "vertex $-1 $0 $2 #\npoint $-1 1 2 3 #\nname-snl-attrib $-1 $-1 $-1 $0 3 a#b #\n"
      "End-of-ACIS-data\n";
  const sat::Model model = model_of(text);
  ASSERT_EQ(model.size(), 4U);
  EXPECT_EQ(model.get<sat::Edge>(0).convexity, "unknown");
  EXPECT_EQ(model.get<sat::Edge>(0).sense, sat::Choice::kSecond);
  EXPECT_EQ(model.get<sat::Attribute>(3).rest, "3 a#b ");
  expect_place(refused(replaced(text, "7 unknown", "5 unknown")), 0, "convexity",
               "does not end after 5 characters");
  expect_place(refused(replaced(text, "7 unknown", "70 unknown")), 0, "convexity", "not so many");
}

// Version 400 has no parameters of edges and no scale of cones, and its logicals are numbers.
// Autodesk's files have additions.
TEST(Read, takes_the_fields_of_version_400_and_of_autodesk) {
  const std::string old =
      "400 15 1 0 \n"
      "11 Scheme AIDE 8 ACIS 4.0 3 now \n"
      "1 9.9999999999999995e-007 1e-010 \n"
      "body $1 $2 $-1 $3 #\n"
      "name-at-attrib $-1 $-1 $-1 $0 6 a name #\n"
      "lump $-1 $-1 $4 $0 #\n"
      "transform $-1 1 0 0 0 1 0 0 0 1 0 0 0 1 no_rotate no_reflect no_shear #\n"
      "shell $-1 $-1 $-1 $5 $-1 $2 #\n"
      "face $-1 $-1 $6 $4 $-1 $7 forward double out #\n"
      "loop $-1 $-1 $8 $5 #\n"
      "cone-surface $-1 0 0 0 0 0 1 1 0 0 1 I I 0 1 forward I I I I #\n"
      "coedge $-1 $9 $9 $-1 $10 0 $6 $-1 #\n"
      "coedge $-1 $8 $8 $-1 $11 1 $6 $-1 #\n"
      "edge $-1 $12 $12 $8 $14 0 #\n"
      "edge $-1 $12 $12 $9 $14 forward #\n"
      "vertex $-1 $10 $13 #\n"
      "point $-1 1 0 0 #\n"
      "ellipse-curve $-1 0 0 0 0 0 1 1 0 0 1 I I #\n";
  const std::string autodesk =
      "22600 0 2 4 \n"
      "17 Autodesk Inventor 9 ASM 226.0 3 now \n"
      "10 9.999999999999999547e-07 1.000000000000000036e-10 \n"
      "asmheader $-1 -1 @13 226.0.0.65535 #\n"
      "body $2 -1 $-1 $3 $-1 $-1 F #\n"
      "ATTRIB_CUSTOM-attrib $-1 -1 $-1 $-1 $1 @5 Color 1 2 { a b } #\n"
      "lump $-1 -1 $-1 $-1 $4 $1 F #\n"
      "shell $-1 -1 $-1 $-1 $-1 $5 $-1 $3 T 0 0 0 1 1 1 #\n"
      "face $-1 -1 $-1 $-1 $6 $4 $-1 $7 forward single F F #\n"
      "loop $-1 -1 $-1 $-1 $8 $5 F unknown #\n"
      "cone-surface $-1 -1 $-1 0 0 0 0 0 1 1 0 0 1 I I 0 1 1 forward I I I I #\n"
      "coedge $-1 -1 $-1 $8 $8 $-1 $9 forward $6 0 $-1 #\n"
      "tedge-edge $-1 -1 $-1 $10 0 $10 6.28 $8 $12 forward @7 unknown F 0.001 0 0 #\n"
      "tvertex-vertex $-1 -1 $-1 $9 0 $11 0.001 -1 -1 #\n"
      "point $-1 -1 $-1 1 0 0 #\n"
      "intcurve-curve $-1 -1 $-1 forward { exact_int_cur full nubs 3 open 2 0 3 1 3 0 0 0 1 0 0 2 "
      "0 0 3 0 0 0 } I I #\n"
      "End-of-ASM-data\n";
  for (const std::string& text : {old, autodesk}) {
    const sat::Model model = model_of(text);
    EXPECT_TRUE(model.document.header.names_line.empty());
    EXPECT_TRUE(sat::verify(model).empty());
    std::string why;
    EXPECT_EQ(first_difference(model.document, document_of(sat::write(model)), why), sat::kNull)
        << why;
  }
  const sat::Model first = model_of(old);
  EXPECT_EQ(first.get<sat::Coedge>(9).sense, sat::Choice::kSecond);
  EXPECT_TRUE(sat::same(first.get<sat::Cone>(7).u_scale, sat::kAbsentReal));
  EXPECT_EQ(first.get<sat::Cone>(7).sense, sat::Choice::kFirst);
  const sat::Model second = model_of(autodesk);
  EXPECT_EQ(second.get<sat::Coedge>(8).extra, 0);
  EXPECT_EQ(second.get<sat::Vertex>(10).extra, 0);
  EXPECT_EQ(second.get<sat::Vertex>(10).tolerance, 0.001);
  EXPECT_EQ(second.get<sat::Edge>(9).tolerance, 0.001);
  EXPECT_EQ(second.get<sat::Edge>(9).rest, "0 0 ");
  EXPECT_EQ(second.subtypes[1].nurbs->poles.size(), 12U);
}

TEST(Read, refuses_what_is_no_text_of_a_model) {
  EXPECT_EQ(refused("").what, "the file is empty.");
  EXPECT_EQ(refused(" \n").what, "the file has nothing but blanks.");
  EXPECT_NE(refused("ACIS BinaryFile\x01").what.find("binary (SAB)"), std::string::npos);
  EXPECT_NE(refused("ASM BinaryFile8").what.find("binary (SAB)"), std::string::npos);
  EXPECT_NE(refused(std::string_view("700 \0", 5)).what.find("zero bytes"), std::string::npos);
  EXPECT_EQ(refused("ISO-10303-21;").field, "version");
  EXPECT_EQ(refused("12 0 0 0").field, "version");
  EXPECT_EQ(refused("700 -5 0 0").field, "number of records");
}

TEST(Read, names_record_and_field_of_a_reference_to_nothing) {
  const std::string text = small_file();
  // Breaks each reference of the file in turn.
  std::size_t at = text.find("body");
  std::size_t references = 0;
  std::int64_t record = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '#' && (text[at + 1] == '\n' || text[at + 1] == '\r')) ++record;
    if (text[at] != '$' || text[at + 1] == '-') continue;
    ++references;
    std::string mutant = text;
    mutant.insert(at + 1, "99");
    const sat::Problem problem = refused(mutant);
    EXPECT_EQ(problem.record, record);
    EXPECT_FALSE(problem.field.empty());
    EXPECT_NE(problem.what.find("names no record; the file has 20."), std::string::npos);
  }
  EXPECT_EQ(references, 35U);
}

TEST(Read, refuses_a_reference_to_another_class) {
  expect_place(refused(replaced(small_file(), "$5 $3 $-1 $6", "$5 $3 $-1 $5")), 4, "surface",
               "$5 is of class loop");
}

struct Mutant {
  const char* from;
  const char* to;
  std::int64_t record;
  const char* field;
  const char* what;
};

class Mutants : public testing::TestWithParam<Mutant> {};

TEST_P(Mutants, is_refused_with_record_and_field) {
  const Mutant& mutant = GetParam();
  expect_place(refused(replaced(small_file(), mutant.from, mutant.to)), mutant.record, mutant.field,
               mutant.what);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, Mutants,
    testing::Values(Mutant{"lump $-1 -1 $-1 $-1", "lump $-1 -1 $-1 $2", 2, "next", "never ends"},
                    Mutant{"shell $-1 -1 $-1 $-1", "shell $-1 -1 $-1 $3", 3, "next", "never ends"},
                    Mutant{"face $-1 -1 $-1 $-1", "face $-1 -1 $-1 $4", 4, "next", "never ends"},
                    Mutant{"loop $-1 -1 $-1 $-1", "loop $-1 -1 $-1 $5", 5, "next", "never ends"},
                    Mutant{"attrib $-1 -1 $-1 $-1 $0 @9", "attrib $-1 -1 $1 $-1 $0 @9", 1, "next",
                           "never ends"}));
INSTANTIATE_TEST_SUITE_P(
    Rings, Mutants,
    testing::Values(
        Mutant{"coedge $-1 -1 $-1 $7 $7", "coedge $-1 -1 $-1 $-1 $7", 8, "next", "does not close"},
        Mutant{"coedge $-1 -1 $-1 $7 $7", "coedge $-1 -1 $-1 $8 $7", 8, "previous", "is expected"},
        Mutant{"reversed $5 $-1", "reversed $-1 $-1", 8, "owner", "in the ring of loop $5"},
        Mutant{"$8 $8 $-1 $9", "$8 $8 $8 $9", 7, "partner", "on another edge"}));
INSTANTIATE_TEST_SUITE_P(
    Subtypes, Mutants,
    testing::Values(Mutant{"{ ref 0 }", "{ ref 1 }", 11, "curve", "a part of that subtype itself"},
                    Mutant{"{ ref 0 }", "{ ref 9 }", 11, "curve", "names no subtype before it"},
                    Mutant{"{ ref 0 }", "{ ref 0 ne }", 11, "curve", "followed by } alone"},
                    Mutant{"{ ref 3 }", "{ ref -3 }", 15, "curve", "names no subtype before it"},
                    Mutant{"{ ref 3 }", "{ ref x }", 15, "curve", "needs the number"},
                    Mutant{"{ ref 3 } F", "{ ref 3 F", 15, "curve", "followed by } alone"},
                    Mutant{"\n\t0 } I I", "\n\t0 I I", 6, "surface", "a { has no }"},
                    Mutant{"0 0 1 1 0.5 I", "0 0 1 1 0.5 I } I", 14, "rest", "a } has no {"}));
INSTANTIATE_TEST_SUITE_P(
    Numbers, Mutants,
    testing::Values(
        Mutant{"open 2 \n\t0 1", "open 1000000000 \n\t0 1", 11, "number of knots", "no room"},
        Mutant{"nubs 1 1 open", "nubs 1 -1 open", 6, "degree", "no room"},
        Mutant{"0 1 1 1 \n\t0 1 1 1", "0 1 1 60 \n\t0 1 1 59", 6, "poles", "no room"},
        Mutant{"1 1 0.5 I I", "1 1e999 0.5 I I", 14, "direction", "a number is expected"},
        Mutant{"1 1 0.5 I I", "1 nan 0.5 I I", 14, "direction", "a number is expected"},
        Mutant{"1 1 0.5 I I", "1 inf 0.5 I I", 14, "direction", "a number is expected"},
        Mutant{"1 1 0.5 I I", "1 1", 14, "direction", "the record ends where a number"},
        Mutant{"point $-1 -1", "point $-1 99999999999999999999", 16, "id", "a whole number"},
        Mutant{"@7 unknown", "@70000 unknown", 9, "end", "longer than the rest of the file"},
        Mutant{"@7 unknown", "@5 unknown", 9, "end", "does not end after so many characters"},
        Mutant{"forward double", "sideways double", 4, "sense", "forward or reversed"},
        Mutant{"face $-1", "$17 $-1", 4, "identifier", "the name of a class"},
        Mutant{"2 2 \n\t0 1 1", "2 2.5 \n\t0 1 1", 6, "number of knots", "a whole number"}));

TEST(Read, does_not_take_what_framing_took_for_a_string_for_a_subtype) {
  for (const char* const record :
       {"@9 { x } y } #\n", "x-attrib $-1 -1 $-1 $-1 $-1 { @9 { x } y  } #\n"}) {
    const std::string text = std::string(kHeader) + record + "End-of-ACIS-data";
    sat::verify(model_of(text, {.partial = true}));
  }
}

TEST(Read, refuses_a_string_where_the_name_of_a_subtype_is_expected) {
  // Framing skips the string @30, and that string contains a length larger than any memory.
  for (const char* const size : {"9223372036854775807", "9223372036854775806"}) {
    const std::string text = std::string(kHeader) + "x-attrib $-1 -1 $-1 $-1 $-1 { @30 a @" + size +
                             " xxxxxxx } #\nEnd-of-ACIS-data";
    expect_place(refused(text), 0, "rest", "the name of a subtype is expected after {");
  }
}

TEST(Characters, skip_a_string_within_the_text_whatever_its_length) {
  const auto behind = [](std::string_view text) {
    const char* const end = text.data() + text.size();
    return sat::skip_string(text.data(), end) - text.data();
  };
  EXPECT_EQ(behind("3 abc x"), 5);
  EXPECT_EQ(behind("3 abc"), 5);
  EXPECT_EQ(behind("0 "), 2);
  EXPECT_EQ(behind("4 abc"), 5);
  EXPECT_EQ(behind("3"), 1);
  EXPECT_EQ(behind("9223372036854775807 abc"), 23);
  EXPECT_EQ(behind("x abc"), 0);
  EXPECT_EQ(behind("+3 abc"), 0);
  EXPECT_EQ(behind(""), 0);
}

TEST(Read, ends_whatever_a_reference_names) {
  std::mt19937_64 random(11);
  const std::string text = small_file();
  for (int round = 0; round < 2000; ++round) {
    std::string mutant = text;
    for (int i = 0; i < 3; ++i) {
      std::size_t at = std::string::npos;
      while (at == std::string::npos) at = mutant.find('$', random() % mutant.size());
      const std::size_t end = mutant.find_first_of(" \n", at);
      mutant.replace(at, end - at, sat::reference_text(static_cast<std::int64_t>(random() % 20)));
    }
    const sat::Model model = model_of(mutant, {.partial = true});
    sat::verify(model, 100);
  }
}

TEST(Read, ends_whatever_bytes_are_changed) {
  std::mt19937_64 random(13);
  const std::string text = small_file();
  constexpr std::string_view kBytes = "#{}$@ \n-0123456789abFIT.e\t";
  for (int round = 0; round < 3000; ++round) {
    std::string mutant = text;
    for (int i = 0; i < 3; ++i) {
      mutant[kHeader.size() + random() % (mutant.size() - kHeader.size())] =
          kBytes[random() % kBytes.size()];
    }
    const sat::Model model = model_of(mutant, {.partial = true});
    sat::verify(model, 100);
    sat::write(model);
  }
}

}  // namespace
