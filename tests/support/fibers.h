// The threads of one block as fibers that switch where they wait for each other.
#pragma once

#include <memory>
#include <vector>

#include "support/gpu_machine.h"

// A switch through the system's contexts is two system calls.
#if defined(__x86_64__)
#define WEFT_OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

// ThreadSanitizer counts the calls of a thread, not of a fiber: those that a switch leaves open
// would never end. It is not told of them.
#define WEFT_ON_FIBERS __attribute__((no_sanitize("thread")))

namespace weft::testing {

class BlockFibers {
 public:
  /// Runs `thread(words)` as each thread of a block, `variables.threads` saying how many there are.
  /// Throws std::runtime_error where they wait for each other in vain.
  void run(const shim::Variables& variables, void (*thread)(const void*), const void* words,
           shim::Machine& machine);

 private:
#if defined(WEFT_OWN_SWITCH)
  using Context = void*;  // the stack pointer; registers lie above it
#else
  using Context = ucontext_t;
#endif
  enum class State { ready, at_block, at_warp, at_shuffle, at_ballot, ended };
  struct Fiber {
    Context context;
    State state;
    unsigned mask;
    int predicate;
    void* value;
    int size, source;
    unsigned result;
  };

  WEFT_ON_FIBERS static void main();
  WEFT_ON_FIBERS static void switch_context(Context& from, Context& to);
  WEFT_ON_FIBERS static int block_barrier(int predicate);
  WEFT_ON_FIBERS static void warp_barrier(unsigned mask);
  WEFT_ON_FIBERS static void shuffle(unsigned mask, void* value, int size, int source);
  WEFT_ON_FIBERS static unsigned ballot(unsigned mask, int predicate);
  WEFT_ON_FIBERS static Fiber& wait(State state, unsigned mask);

  void start(std::size_t thread);
  void resume(std::size_t thread);
  bool release_block();
  bool release_warp(std::size_t first, Fiber& waiting);
  bool release_warps();
  void exchange(std::size_t first, unsigned mask, State state);

  static constexpr std::size_t stack_bytes = 64 * 1024;
  std::unique_ptr<char[]> stacks_;
  std::vector<Fiber> fibers_;
  std::size_t count_ = 0, capacity_ = 0, current_ = 0;
  Context scheduler_;
  const shim::Variables* variables_ = nullptr;
  shim::Machine* machine_ = nullptr;
  void (*run_)(const void*) = nullptr;
  const void* words_ = nullptr;
};

}  // namespace weft::testing
