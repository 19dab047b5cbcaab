// Reads untrusted unwind tables. Every read is checked against the end. After a read beyond the end
// all further reads give 0 and `good` is false.
#pragma once

#include <cstdint>
#include <cstring>

namespace threadmark::unwind {

// Bytes in this process that lie at `address` in the unwound process.
struct Image {
  const unsigned char* bytes = nullptr;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// The pointer encodings DW_EH_PE_*.
enum Encoding : unsigned char {
  kAbsolute = 0x00,
  kUnsigned128 = 0x01,
  kUnsigned2 = 0x02,
  kUnsigned4 = 0x03,
  kUnsigned8 = 0x04,
  kSigned128 = 0x09,
  kSigned2 = 0x0a,
  kSigned4 = 0x0b,
  kSigned8 = 0x0c,
  kRelativeToPlace = 0x10,
  kRelativeToData = 0x30,
  kIndirect = 0x80,
  kOmitted = 0xff,
};

class Reader {
 public:
  explicit Reader(const Image& image) : image_(&image), end_(image.size) {}
  // Reads from `address` on; no read passes the end of the image.
  Reader(const Image& image, std::uint64_t address) : Reader(image) { go(address); }

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] std::uint64_t address() const { return image_->address + at_; }
  [[nodiscard]] std::uint64_t left() const { return end_ - at_; }
  void fail() {
    good_ = false;
    at_ = end_;
  }
  void go(std::uint64_t address) {
    const std::uint64_t at = address - image_->address;
    if (address < image_->address || at > end_) return fail();
    at_ = at;
  }
  // All reads end `size` bytes from here.
  void limit(std::uint64_t size) {
    if (size > left()) return fail();
    end_ = at_ + size;
  }
  void skip(std::uint64_t size) {
    if (size > left()) return fail();
    at_ += size;
  }

  template <class Number>
  Number number() {
    Number to{};
    if (left() < sizeof to) {
      fail();
      return to;
    }
    std::memcpy(&to, image_->bytes + at_, sizeof to);
    at_ += sizeof to;
    return to;
  }

  std::uint64_t uleb() {
    std::uint64_t to = 0;
    for (unsigned shift = 0; good_; shift += 7) {
      const auto byte = number<unsigned char>();
      if (shift < 64) to |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80U) == 0) break;
      if (shift > 128) fail();
    }
    return to;
  }

  std::int64_t sleb() {
    std::uint64_t to = 0;
    for (unsigned shift = 0; good_;) {
      const auto byte = number<unsigned char>();
      if (shift < 64) to |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
      if ((byte & 0x80U) == 0) {
        if (shift < 64 && (byte & 0x40U) != 0) to |= ~std::uint64_t{0} << shift;
        break;
      }
      if (shift > 128) fail();
    }
    return static_cast<std::int64_t>(to);
  }

  // Reads a pointer; `data` is the base of kRelativeToData. An indirect pointer gives the address
  // of the pointer, because no caller needs its target.
  std::uint64_t pointer(unsigned char encoding, std::uint64_t data) {
    if (encoding == kOmitted) return 0;
    std::uint64_t to = 0;
    const std::uint64_t place = address();
    switch (encoding & 0x0fU) {
      case kAbsolute:
      case kUnsigned8:
      case kSigned8:
        to = number<std::uint64_t>();
        break;
      case kUnsigned128:
        to = uleb();
        break;
      case kSigned128:
        to = static_cast<std::uint64_t>(sleb());
        break;
      case kUnsigned2:
        to = number<std::uint16_t>();
        break;
      case kSigned2:
        to = static_cast<std::uint64_t>(std::int64_t{number<std::int16_t>()});
        break;
      case kUnsigned4:
        to = number<std::uint32_t>();
        break;
      case kSigned4:
        to = static_cast<std::uint64_t>(std::int64_t{number<std::int32_t>()});
        break;
      default:
        fail();
    }
    switch (encoding & 0x70U) {
      case kAbsolute:
        break;
      case kRelativeToPlace:
        to += place;
        break;
      case kRelativeToData:
        to += data;
        break;
      default:
        fail();
    }
    return good_ ? to : 0;
  }

 private:
  const Image* image_;
  std::uint64_t at_ = 0, end_;
  bool good_ = true;
};

}  // namespace threadmark::unwind
