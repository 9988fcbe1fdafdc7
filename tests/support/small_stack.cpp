#include "support/small_stack.h"

#include <pthread.h>

#include <exception>
#include <system_error>

namespace weft::test {
namespace {

struct Call {
  const std::function<void()>& work;
  std::exception_ptr error;
};

void* run(void* data) {
  Call& call = *static_cast<Call*>(data);
  try {
    call.work();
  } catch (...) {
    call.error = std::current_exception();
  }
  return nullptr;
}

void require_success(int status, const char* what) {
  if (status != 0) throw std::system_error(status, std::generic_category(), what);
}

}  // namespace

void on_small_stack(const std::function<void()>& work) {
  Call call{work, nullptr};
  pthread_attr_t attributes;
  require_success(pthread_attr_init(&attributes), "pthread_attr_init");
  require_success(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10),
                  "pthread_attr_setstacksize");
  pthread_t thread;
  require_success(pthread_create(&thread, &attributes, run, &call), "pthread_create");
  require_success(pthread_join(thread, nullptr), "pthread_join");
  pthread_attr_destroy(&attributes);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace weft::test
