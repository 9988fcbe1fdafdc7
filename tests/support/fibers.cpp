// Switches among the fibers of a block: each runs until it waits; then those whose company is
// complete go on.
#include "support/fibers.h"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#if defined(WEFT_OWN_SWITCH)
// Keeps what a called function must preserve, and goes on where the other stack was left.
asm(R"(
  .text
  .type weft_switch_stack, @function
weft_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size weft_switch_stack, . - weft_switch_stack
)");
extern "C" void weft_switch_stack(void** from, void* to);
#endif

namespace weft::testing {
namespace {

BlockFibers* active = nullptr;
constexpr std::size_t warp_size = 32;

}  // namespace

void BlockFibers::run(const shim::Variables& variables, void (*thread)(const void*),
                      const void* words, shim::Machine& machine) {
  active = this;
  variables_ = &variables;
  machine_ = &machine;
  run_ = thread;
  words_ = words;
  machine.block_barrier = block_barrier;
  machine.warp_barrier = warp_barrier;
  machine.shuffle = shuffle;
  machine.ballot = ballot;
  const shim::Index& threads = *variables.threads;
  count_ = std::size_t{threads.x} * threads.y * threads.z;
  if (count_ > capacity_) {
    stacks_.reset(new char[count_ * stack_bytes]);
    fibers_ = std::vector<Fiber>(count_);
    capacity_ = count_;
  }
  for (std::size_t t = 0; t < count_; ++t) start(t);
  for (;;) {
    bool is_over = true;
    for (std::size_t t = 0; t < count_; ++t) {
      if (fibers_[t].state == State::ready) resume(t);
      is_over = is_over && fibers_[t].state == State::ended;
    }
    if (is_over) return;
    const bool warps = release_warps(), block = release_block();
    if (!warps && !block) throw std::runtime_error("threads of a block wait in vain");
  }
}

#if defined(WEFT_OWN_SWITCH)

void BlockFibers::start(std::size_t thread) {
  Fiber& fiber = fibers_[thread];
  fiber.state = State::ready;
  // As if it had been left right before its first instruction: six registers, where it goes on, and
  // a caller that there is not. The stack's end is a multiple of 16.
  const auto end = reinterpret_cast<std::uintptr_t>(stacks_.get() + (thread + 1) * stack_bytes);
  auto* const top = reinterpret_cast<std::uintptr_t*>(end / 16 * 16) - 8;
  std::memset(top, 0, 8 * sizeof *top);
  top[6] = reinterpret_cast<std::uintptr_t>(&main);
  fiber.context = top;
}

void BlockFibers::switch_context(Context& from, Context& to) { weft_switch_stack(&from, to); }

#else

void BlockFibers::start(std::size_t thread) {
  Fiber& fiber = fibers_[thread];
  fiber.state = State::ready;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stacks_.get() + thread * stack_bytes;
  fiber.context.uc_stack.ss_size = stack_bytes;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, main, 0);
}

void BlockFibers::switch_context(Context& from, Context& to) { swapcontext(&from, &to); }

#endif

void BlockFibers::resume(std::size_t thread) {
  current_ = thread;
  const auto t = static_cast<unsigned>(thread);
  const shim::Index& threads = *variables_->threads;
  *variables_->thread = {t % threads.x, t / threads.x % threads.y, t / threads.x / threads.y};
  machine_->lane = t % warp_size;
  switch_context(scheduler_, fibers_[thread].context);
}

void BlockFibers::main() {
  active->run_(active->words_);
  Fiber& fiber = active->fibers_[active->current_];
  fiber.state = State::ended;
  switch_context(fiber.context, active->scheduler_);  // for good
}

BlockFibers::Fiber& BlockFibers::wait(State state, unsigned mask) {
  Fiber& fiber = active->fibers_[active->current_];
  fiber.state = state;
  fiber.mask = mask;
  switch_context(fiber.context, active->scheduler_);
  return fiber;
}

int BlockFibers::block_barrier(int predicate) {
  active->fibers_[active->current_].predicate = predicate;
  return static_cast<int>(wait(State::at_block, 0).result);
}

void BlockFibers::warp_barrier(unsigned mask) { wait(State::at_warp, mask); }

void BlockFibers::shuffle(unsigned mask, void* value, int size, int source) {
  Fiber& fiber = active->fibers_[active->current_];
  fiber.value = value;
  fiber.size = size;
  fiber.source = source;
  wait(State::at_shuffle, mask);
}

unsigned BlockFibers::ballot(unsigned mask, int predicate) {
  active->fibers_[active->current_].predicate = predicate;
  return wait(State::at_ballot, mask).result;
}

// Threads that have ended are not waited for.
bool BlockFibers::release_block() {
  unsigned count = 0;
  for (std::size_t t = 0; t < count_; ++t) {
    if (fibers_[t].state == State::ended) continue;
    if (fibers_[t].state != State::at_block) return false;
    count += fibers_[t].predicate != 0;
  }
  for (std::size_t t = 0; t < count_; ++t) {
    if (fibers_[t].state == State::ended) continue;
    fibers_[t].state = State::ready;
    fibers_[t].result = count;
  }
  return true;
}

bool BlockFibers::release_warps() {
  bool any = false;
  for (std::size_t t = 0; t < count_; ++t) {
    const State state = fibers_[t].state;
    if (state != State::at_warp && state != State::at_shuffle && state != State::at_ballot)
      continue;
    any = release_warp(t / warp_size * warp_size, fibers_[t]) || any;
  }
  return any;
}

// Lets the lanes of a mask go on once all of them wait for the same.
bool BlockFibers::release_warp(std::size_t first, Fiber& waiting) {
  const State state = waiting.state;
  const unsigned mask = waiting.mask;
  if ((mask >> (static_cast<std::size_t>(&waiting - fibers_.data()) - first) & 1u) == 0)
    throw std::runtime_error("a thread's own lane is not in its mask");
  for (std::size_t lane = 0; lane < warp_size && first + lane < count_; ++lane) {
    if ((mask >> lane & 1u) == 0) continue;
    const Fiber& fiber = fibers_[first + lane];
    if (fiber.state == State::ended) throw std::runtime_error("a lane of a mask has ended");
    if (fiber.state != state || fiber.mask != mask) return false;
  }
  exchange(first, mask, state);
  for (std::size_t lane = 0; lane < warp_size && first + lane < count_; ++lane)
    if ((mask >> lane & 1u) != 0) fibers_[first + lane].state = State::ready;
  return true;
}

void BlockFibers::exchange(std::size_t first, unsigned mask, State state) {
  unsigned char values[warp_size][16];
  unsigned ballot = 0;
  const auto each = [&](auto f) {
    for (std::size_t lane = 0; lane < warp_size && first + lane < count_; ++lane)
      if ((mask >> lane & 1u) != 0) f(fibers_[first + lane], lane);
  };
  if (state == State::at_shuffle) {
    each([&](Fiber& fiber, std::size_t lane) {
      std::memcpy(values[lane], fiber.value, static_cast<std::size_t>(fiber.size));
    });
    each([&](Fiber& fiber, std::size_t) {
      if (fiber.source < 0) return;
      if (fiber.source >= 32 || (mask >> fiber.source & 1u) == 0 ||
          first + static_cast<std::size_t>(fiber.source) >= count_)
        throw std::runtime_error("a shuffle reads lane " + std::to_string(fiber.source) +
                                 ", which takes no part");
      std::memcpy(fiber.value, values[fiber.source], static_cast<std::size_t>(fiber.size));
    });
  } else if (state == State::at_ballot) {
    each([&](Fiber& fiber, std::size_t lane) {
      if (fiber.predicate != 0) ballot |= 1u << lane;
    });
    each([&](Fiber& fiber, std::size_t) { fiber.result = ballot; });
  }
}

}  // namespace weft::testing
