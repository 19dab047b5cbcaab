// Keeps the classic locale, whatever the program asks for. libstdc++ and libc++ count the copies of
// any other locale in one word that all threads write.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <stddef.h>

typedef char* set_function(int, const char*);
typedef void make_function(void*);

char* setlocale(int category, const char* name) {
  static set_function* real;
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "setlocale");
  return real(category, name ? "C" : NULL);
}

// std::locale::global() of libstdc++ returns the locale before, which is the classic one still:
// a std::locale made without arguments, at the place that the caller gives for what is returned.
void* _ZNSt6locale6globalERKS_(void* result, const void* wanted) {
  (void)wanted;
  make_function* make;
  *(void**)&make = dlsym(RTLD_DEFAULT, "_ZNSt6localeC1Ev");
  make(result);
  return result;
}

// The same of libc++.
void* _ZNSt3__16locale6globalERKS0_(void* result, const void* wanted) {
  (void)wanted;
  make_function* make;
  *(void**)&make = dlsym(RTLD_DEFAULT, "_ZNSt3__16localeC1Ev");
  make(result);
  return result;
}
