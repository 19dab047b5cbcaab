// The version of tmk, for programs that report what they were built with.
#pragma once

#define TMK_VERSION "0.1.0"
