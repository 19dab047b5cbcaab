// The agent's own versions of the memory and text functions that it calls. A library before the
// agent may replace those of the C library: a sanitizer checks the reads and writes of their
// callers.
#include <cstddef>

// They have another name for the compiler, because it declares the standard names itself, as
// visible.
#define THREADMARK_OWN(result, name, ...)                                                 \
  extern "C" [[gnu::visibility("hidden")]] result own_##name(__VA_ARGS__) __asm__(#name); \
  extern "C" result own_##name(__VA_ARGS__)

namespace {

// The compiler must not turn a loop into a call of the very function that has the loop.
template <class Value>
Value plain(Value value) {
  asm volatile("" : "+r"(value));
  return value;
}

unsigned char byte(const void* at, std::size_t index) {
  return plain(static_cast<const unsigned char*>(at)[index]);
}

}  // namespace

THREADMARK_OWN(void*, memcpy, void* to, const void* from, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) static_cast<unsigned char*>(to)[i] = byte(from, i);
  return to;
}

THREADMARK_OWN(void*, memmove, void* to, const void* from, std::size_t size) {
  if (to <= from) return own_memcpy(to, from, size);
  for (std::size_t i = size; i > 0; --i) static_cast<unsigned char*>(to)[i - 1] = byte(from, i - 1);
  return to;
}

THREADMARK_OWN(void*, memset, void* to, int value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    static_cast<unsigned char*>(to)[i] = plain(static_cast<unsigned char>(value));
  return to;
}

THREADMARK_OWN(void*, memchr, const void* in, int value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (byte(in, i) == static_cast<unsigned char>(value))
      return const_cast<unsigned char*>(static_cast<const unsigned char*>(in) + i);
  return nullptr;
}

THREADMARK_OWN(int, memcmp, const void* one, const void* other, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (const int difference = byte(one, i) - byte(other, i); difference != 0) return difference;
  return 0;
}

THREADMARK_OWN(std::size_t, strlen, const char* text) {
  std::size_t length = 0;
  while (byte(text, length) != 0) ++length;
  return length;
}

THREADMARK_OWN(char*, strcpy, char* to, const char* from) {
  own_memcpy(to, from, own_strlen(from) + 1);
  return to;
}

THREADMARK_OWN(char*, strcat, char* to, const char* from) {
  own_strcpy(to + own_strlen(to), from);
  return to;
}

THREADMARK_OWN(int, strncmp, const char* one, const char* other, std::size_t most) {
  for (std::size_t i = 0; i < most; ++i) {
    const int difference = byte(one, i) - byte(other, i);
    if (difference != 0 || one[i] == '\0') return difference;
  }
  return 0;
}

THREADMARK_OWN(char*, strchr, const char* in, int value) {
  return static_cast<char*>(own_memchr(in, value, own_strlen(in) + 1));
}

THREADMARK_OWN(char*, strrchr, const char* in, int value) {
  for (std::size_t i = own_strlen(in) + 1; i > 0; --i)
    if (in[i - 1] == static_cast<char>(value)) return const_cast<char*>(in + i - 1);
  return nullptr;
}

THREADMARK_OWN(std::size_t, strspn, const char* text, const char* of) {
  std::size_t length = 0;
  while (text[length] != '\0' && own_strchr(of, text[length]) != nullptr) ++length;
  return length;
}

THREADMARK_OWN(std::size_t, strcspn, const char* text, const char* until) {
  std::size_t length = 0;
  while (own_strchr(until, text[length]) == nullptr) ++length;
  return length;
}

THREADMARK_OWN(char*, strstr, const char* in, const char* text) {
  const std::size_t length = own_strlen(text);
  for (; own_strncmp(in, text, length) != 0; ++in)
    if (*in == '\0') return nullptr;
  return const_cast<char*>(in);
}
