// Gives each FILE that the program opens, and standard output where it is no terminal, a buffer of
// 1 MiB. What is flushed, or set by setvbuf, is so at the same places as before.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { size_bytes = 1 << 20 };

typedef FILE* open_function(const char*, const char*);
typedef FILE* of_descriptor_function(int, const char*);

static open_function* real_open;
static open_function* real_open64;
static of_descriptor_function* real_of_descriptor;

// The buffer of a FILE that is closed stays: nobody knows whether another thread still prints.
static FILE* with_buffer(FILE* file) {
  if (file) {
    char* buffer = malloc(size_bytes);
    if (buffer && setvbuf(file, buffer, _IOFBF, size_bytes) != 0) free(buffer);
  }
  return file;
}

static void find(void) {
  *(void**)&real_open = dlsym(RTLD_NEXT, "fopen");
  *(void**)&real_open64 = dlsym(RTLD_NEXT, "fopen64");
  *(void**)&real_of_descriptor = dlsym(RTLD_NEXT, "fdopen");
}

__attribute__((constructor)) static void begin(void) {
  find();
  static char of_output[size_bytes];
  if (!isatty(STDOUT_FILENO)) setvbuf(stdout, of_output, _IOFBF, sizeof of_output);
}

FILE* fopen(const char* name, const char* mode) {
  if (!real_open) find();
  return with_buffer(real_open(name, mode));
}

FILE* fopen64(const char* name, const char* mode) {
  if (!real_open64) find();
  return with_buffer(real_open64(name, mode));
}

FILE* fdopen(int descriptor, const char* mode) {
  if (!real_of_descriptor) find();
  return with_buffer(real_of_descriptor(descriptor, mode));
}
