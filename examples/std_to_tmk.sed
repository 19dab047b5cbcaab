# sed -E -f std_to_tmk.sed: what a source says of std's tasks and locks goes through the alias `tasks`, which is tmk.
# `namespace tasks = std;` goes back.
1i\
#include <tmk/async.hpp>\
#include <tmk/mutex.hpp>\
namespace tasks = tmk;
s/\bstd::(async|future|launch|lock|packaged_task|promise|scoped_lock|shared_future|try_lock)\b/tasks::\1/g
