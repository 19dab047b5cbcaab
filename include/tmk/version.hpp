// The version of tmk, for programs that report the versions of their libraries.
#pragma once

#define TMK_VERSION "0.1.0"
