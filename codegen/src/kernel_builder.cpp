// Threads that build kernels while those who asked go on.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "kernel_cache.h"
#include "system_calls.h"

namespace weft::detail {

class KernelBuild {
 public:
  KernelBuild(std::string text, std::shared_ptr<const KernelSource> of, int for_arch)
      : key(std::move(text)), source(std::move(of)), arch(for_arch) {}

  const std::string key;
  const std::shared_ptr<const KernelSource> source;
  const int arch;
  // Written once, before is_done.
  Cubin cubin;
  std::exception_ptr error;
  std::atomic<bool> is_done{false};
};

/// Shared with the threads, which may see the last of it after the builder has gone.
struct KernelBuilder::State : std::enable_shared_from_this<KernelBuilder::State> {
  State(KernelCache& kernels, int wanted) : cache(kernels), most_workers(wanted) {}

  KernelHandle request(std::shared_ptr<const KernelSource> source, int arch);
  Cubin wait(const KernelHandle& handle);
  void stop(bool for_good);
  void work();

  KernelCache& cache;
  const int most_workers;
  std::atomic<pid_t> process{0};  // that the threads are in; 0 before the first request

 private:
  void require_process();
  void start_workers();
  void build(const KernelHandle& handle);
  void finish(const KernelHandle& handle, Cubin cubin, std::exception_ptr error);

  std::mutex mutex_;
  std::condition_variable queued_, done_, idle_;
  std::deque<KernelHandle> queue_;
  std::unordered_map<std::string_view, KernelHandle> open_;  // queued or being built
  int workers_ = 0, busy_ = 0;
  bool is_stopped_ = false;
};

namespace {

std::exception_ptr ending() {
  return std::make_exception_ptr(
      DeviceError("kernels: the process is ending, and builds no more of them", {}));
}

void* run_worker(void* context) {
  const std::unique_ptr<std::shared_ptr<KernelBuilder::State>> state(
      static_cast<std::shared_ptr<KernelBuilder::State>*>(context));
  pthread_setname_np(pthread_self(), "weft kernels");
  (*state)->work();
  return nullptr;
}

int default_workers() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
}

}  // namespace

// Before any lock: a parent's thread may have held it at the fork.
void KernelBuilder::State::require_process() {
  const pid_t own = ::getpid();
  pid_t expected = 0;
  if (!process.compare_exchange_strong(expected, own) && expected != own)
    fail<DeviceError>({}, "kernels: this process was forked after kernels had been asked for, and "
                          "the threads that build them did not come along; fork before the first "
                          "evaluation on a GPU, or start a new program in the child");
}

KernelHandle KernelBuilder::State::request(std::shared_ptr<const KernelSource> source, int arch) {
  require_process();
  std::string key = KernelCache::key_of(*source, arch);
  const std::lock_guard lock(mutex_);
  if (const auto found = open_.find(key); found != open_.end()) return found->second;
  auto handle = std::make_shared<KernelBuild>(std::move(key), std::move(source), arch);
  if (Cubin cubin = cache.find_in_memory(handle->key)) {
    handle->cubin = std::move(cubin);
    handle->is_done = true;
    return handle;
  }
  if (is_stopped_) {
    handle->error = ending();
    handle->is_done = true;
    return handle;
  }
  open_.emplace(handle->key, handle);
  try {
    queue_.push_back(handle);
  } catch (...) {
    open_.erase(handle->key);
    throw;
  }
  start_workers();
  queued_.notify_one();
  return handle;
}

// As many as have something to do. Fewer than wanted are no error: whoever waits builds then.
void KernelBuilder::State::start_workers() {
  const auto wanted = static_cast<std::size_t>(busy_) + queue_.size();
  while (workers_ < most_workers && static_cast<std::size_t>(workers_) < wanted) {
    auto* const context = new (std::nothrow) std::shared_ptr<State>(shared_from_this());
    if (!context) return;
    if (!system_calls().start_thread(run_worker, context)) {
      delete context;
      return;
    }
    ++workers_;
  }
}

void KernelBuilder::State::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    queued_.wait(lock, [this] { return is_stopped_ || !queue_.empty(); });
    if (is_stopped_) break;
    const KernelHandle handle = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    build(handle);
    lock.lock();
    --busy_;
    if (is_stopped_) idle_.notify_all();
  }
  --workers_;
  idle_.notify_all();
}

void KernelBuilder::State::finish(const KernelHandle& handle, Cubin cubin,
                                  std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    handle->cubin = std::move(cubin);
    handle->error = std::move(error);
    handle->is_done.store(true, std::memory_order_release);
    open_.erase(handle->key);
  }
  done_.notify_all();
}

// Whoever waits has the kernel before it is on disk.
void KernelBuilder::State::build(const KernelHandle& handle) {
  Cubin cubin;
  bool is_new = false;
  std::exception_ptr error;
  try {
    try {
      cubin = cache.find(handle->key);
      if (!cubin) {
        cubin = cache.build(handle->key, *handle->source, handle->arch);
        is_new = true;
      }
    } catch (const std::bad_alloc&) {
      fail_memory("building a kernel", {});
    }
  } catch (...) {
    error = std::current_exception();
  }
  finish(handle, cubin, error);
  if (is_new) cache.publish(handle->key, cubin);
}

Cubin KernelBuilder::State::wait(const KernelHandle& handle) {
  if (!handle->is_done.load(std::memory_order_acquire)) {
    require_process();
    std::unique_lock lock(mutex_);
    if (workers_ == 0) {
      const auto place = std::find(queue_.begin(), queue_.end(), handle);
      if (place != queue_.end()) {
        queue_.erase(place);
        lock.unlock();
        build(handle);
        lock.lock();
      }
    }
    done_.wait(lock, [&] { return handle->is_done.load(std::memory_order_relaxed); });
  }
  if (handle->error) std::rethrow_exception(handle->error);
  return handle->cubin;
}

// Gives up the queue and returns when no thread is at work; for good: when no thread is left.
void KernelBuilder::State::stop(bool for_good) {
  if (process.load() != ::getpid()) return;
  std::unique_lock lock(mutex_);
  is_stopped_ = true;
  for (const KernelHandle& handle : std::exchange(queue_, {})) {
    handle->error = ending();
    handle->is_done.store(true, std::memory_order_release);
    open_.erase(handle->key);
  }
  done_.notify_all();
  queued_.notify_all();
  idle_.wait(lock, [&] { return busy_ == 0 && (!for_good || workers_ == 0); });
}

KernelBuilder::KernelBuilder(KernelCache& cache, int workers)
    : state_(std::make_shared<State>(cache, workers > 0 ? workers : default_workers())) {}

KernelBuilder::~KernelBuilder() { state_->stop(true); }

void KernelBuilder::end() noexcept { state_->stop(false); }

KernelHandle KernelBuilder::request(std::shared_ptr<const KernelSource> source, int arch) {
  return state_->request(std::move(source), arch);
}

Cubin KernelBuilder::wait(const KernelHandle& handle) { return state_->wait(handle); }

bool KernelBuilder::is_done(const KernelHandle& handle) noexcept {
  return handle->is_done.load(std::memory_order_acquire);
}

namespace {

void end_with_process(KernelBuilder& builder) noexcept {
  end_compilations();
  builder.end();
}

// A thread's own objects are destroyed before exit handlers run: where the main thread has used the
// builder, nothing is destroyed yet when this ends it. It also does if the main thread ends alone.
struct EndOfMainThread {
  KernelBuilder* builder = nullptr;
  ~EndOfMainThread() {
    if (builder && ::gettid() == ::getpid()) end_with_process(*builder);
  }
};

std::atomic<KernelBuilder*> replacement{nullptr};

}  // namespace

void replace_kernel_builder(KernelBuilder* builder) noexcept { replacement.store(builder); }

KernelBuilder& kernel_builder() {
  if (KernelBuilder* const builder = replacement.load(std::memory_order_acquire)) return *builder;
  static KernelBuilder* const instance = [] {
    static KernelBuilder* const builder = new KernelBuilder(kernel_cache());
    std::atexit([] { end_with_process(*builder); });
    return builder;
  }();
  static thread_local EndOfMainThread end;
  end.builder = instance;
  return *instance;
}

}  // namespace weft::detail
