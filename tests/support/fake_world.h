// What the driver of the tests is made of: everything that exists, under one lock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/driver.h"
#include "support/fake_cuda.h"

namespace weft::testing::fake {

using namespace weft::detail;

inline constexpr CuStatus invalid_value = 1, invalid_image = 200, invalid_context = 201,
                          invalid_handle = 400, launch_failed = 719,
                          host_memory_already_registered = 712, host_memory_not_registered = 713;

struct Event {
  bool recorded = false, happened = true;
  std::uint64_t number = 0;
};

struct Work {
  std::function<void()> run;
  std::shared_ptr<Event> waits;  // may start when it has happened
  bool is_kernel = false;
};

struct Stream {
  int gpu;
  std::deque<Work> queue;
};

struct Module {
  std::string text;
};
struct Function {
  const Module* module;
  std::string entry;
};

/// All that exists, under one lock.
struct World {
  std::recursive_mutex mutex;
  FakeCudaOptions options;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Stream>> streams;
  struct LateCopy {
    CuAddress to;
    std::vector<char> bytes;
  };
  std::map<int, std::vector<LateCopy>> late_copies;  // of each GPU's default stream
  std::map<CuEvent, std::shared_ptr<Event>> events;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<CuAddress, std::pair<int, std::vector<char>>> blocks;
  std::map<CuAddress, std::size_t> ranges;  // reserved
  struct Chunk {
    int gpu;
    std::size_t bytes;
    int holders;
  };
  std::map<CuMemory, Chunk> chunks;
  CuMemory last_chunk = 0;
  std::map<CuAddress, std::pair<std::size_t, CuMemory>> mappings;
  std::map<void*, std::vector<char>> pinned;
  std::map<void*, std::size_t> registered;
  std::map<int, std::size_t> used;
  std::int64_t calls = 0, fails_at = 0, launches = 0, peer_copies = 0;
  std::int64_t crash_after = 0;  // kernels, the last of which crashes
  CuStatus failure = 0, lost = 0;
  bool failed = false, forever = false, holds_kernels = false;
  std::vector<FakeCuda::Done> log;
};

World& world();
/// The contexts that a thread has pushed. Without a destructor: what outlives those of a thread
/// calls the driver too.
struct ContextStack {
  std::array<CuContext, 16> all;
  std::size_t count;
};
extern thread_local ContextStack contexts;

struct Lock {
  std::lock_guard<std::recursive_mutex> guard{world().mutex};
};

/// The status that this call is to return; not 0: it does nothing.
CuStatus fault();
/// Whose context is current; -1: none is.
int current_gpu();
/// Does one piece of some stream's work; false where none can start.
bool do_some();
void do_all();
/// Does what a default stream has; where nobody waits for it, that comes after all other work.
void do_late_copies(int gpu);
/// Queues work, and does some of what there is at random.
CuStatus append(CuStream handle, std::function<void()> run, std::shared_ptr<Event> waits = {},
                bool is_kernel = false);
inline char* bytes_at(CuAddress address) { return reinterpret_cast<char*>(address); }
inline Stream& stream_of(CuStream handle) { return *reinterpret_cast<Stream*>(handle); }

/// The lock is not held.
template <class Done>
CuStatus work_until(Done done) {
  for (;;) {
    {
      const Lock lock;
      if (world().lost || done()) return world().lost;
      if (do_some()) continue;
      if (!world().holds_kernels) return invalid_handle;  // a wait for what nobody has queued
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// The driver's functions.
#define WEFT_CALL(name, symbol, parameters) CuStatus name parameters;
WEFT_DRIVER_CALLS(WEFT_CALL)
#undef WEFT_CALL

}  // namespace weft::testing::fake
