// hash_tree PATH: the SHA-256 of a whole directory tree, each entry by a std::async of its own.
// It knows nothing of tmk: CMakeLists.txt builds it with and without.
//
// A file's digest is that of its contents, a link's that of its target; a directory's is that of
// its entries in the order of their names, each as one of the letters f, l, d, its digest (32
// bytes), its name and a zero byte.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

namespace {

namespace fs = std::filesystem;
using Digest = std::array<std::uint8_t, 32>;

// SHA-256 as FIPS 180-4 describes it.
class Sha256 {
 public:
  void update(const void* bytes, std::size_t size) {
    const auto* from = static_cast<const std::uint8_t*>(bytes);
    length_ += size;
    while (size != 0) {
      const std::size_t part = std::min(size, block_.size() - filled_);
      std::memcpy(block_.data() + filled_, from, part);
      filled_ += part;
      from += part;
      size -= part;
      if (filled_ == block_.size()) compress();
    }
  }

  Digest finish() {
    const std::uint64_t bits = length_ * 8;
    const std::uint8_t one = 0x80, zero = 0;
    update(&one, 1);
    while (filled_ != 56) update(&zero, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
      const auto byte = static_cast<std::uint8_t>(bits >> shift);
      update(&byte, 1);
    }
    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i) {
      digest[i] = static_cast<std::uint8_t>(hash_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return digest;
  }

 private:
  void compress() {
    std::array<std::uint32_t, 64> w;
    for (std::size_t i = 0; i < 16; ++i) {
      const auto byte = [&](std::size_t at) { return std::uint32_t{block_[4 * i + at]}; };
      w[i] = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t x = w[i - 15], y = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[i - 7] +
             (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = hash_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                               ((e & f) ^ (~e & g)) + kConstants[i] + w[i];
      const std::uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < hash_.size(); ++i) hash_[i] += mixed[i];
    filled_ = 0;
  }

  // The first bits after the point of the cube roots of the first primes; of their square roots.
  static constexpr std::array<std::uint32_t, 64> kConstants{
      0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
      0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
      0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
      0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
      0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
      0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
      0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
      0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
      0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
      0xc67178f2};
  std::array<std::uint32_t, 8> hash_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_;
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

std::atomic<unsigned long> entries_hashed = 0;

Digest hash_directory(const fs::path& path);

Digest hash_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hash;
  std::array<char, 16384> buffer;
  while (file) {
    file.read(buffer.data(), buffer.size());
    hash.update(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) {
    throw fs::filesystem_error("cannot read", path, std::make_error_code(std::errc::io_error));
  }
  return hash.finish();
}

Digest hash_link(const fs::path& path) {
  const std::string target = fs::read_symlink(path);
  Sha256 hash;
  hash.update(target.data(), target.size());
  return hash.finish();
}

Digest hash_entry(const fs::path& path, char letter) {
  ++entries_hashed;
  return letter == 'd' ? hash_directory(path) : letter == 'f' ? hash_file(path) : hash_link(path);
}

char letter_of(const fs::path& path, fs::file_status status) {
  if (fs::is_directory(status)) return 'd';
  if (fs::is_regular_file(status)) return 'f';
  if (fs::is_symlink(status)) return 'l';
  const auto why =
      fs::exists(status) ? std::errc::not_supported : std::errc::no_such_file_or_directory;
  throw fs::filesystem_error("neither file, directory nor link", path, std::make_error_code(why));
}

Digest hash_directory(const fs::path& path) {
  struct Entry {
    char letter;
    std::future<Digest> digest;
  };
  std::map<std::string, Entry> entries;  // by name
  for (const fs::directory_entry& each : fs::directory_iterator(path)) {
    const char letter = letter_of(each.path(), each.symlink_status());
    entries[each.path().filename()] = {letter, std::async(hash_entry, each.path(), letter)};
  }
  Sha256 hash;
  for (auto& [name, entry] : entries) {
    const Digest digest = entry.digest.get();
    hash.update(&entry.letter, 1);
    hash.update(digest.data(), digest.size());
    hash.update(name.c_str(), name.size() + 1);
  }
  return hash.finish();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: hash_tree PATH\n");
    return 2;
  }
  try {
    const auto start = std::chrono::steady_clock::now();
    const fs::path path = arguments[1];
    const Digest digest = hash_entry(path, letter_of(path, fs::status(path)));
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    for (const std::uint8_t byte : digest) std::printf("%02x", unsigned{byte});
    std::printf("  %s\n", arguments[1]);
    std::fprintf(stderr, "%lu entries in %.3f s\n", entries_hashed.load(), time.count());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hash_tree: %s\n", error.what());
    return 1;
  }
}
