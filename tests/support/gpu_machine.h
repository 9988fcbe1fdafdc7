// What a shared object of kernels and the machine that runs them know of each other.
#pragma once

namespace shim {

/// Served by support/host_kernels.cpp to the thread that calls.
struct Machine {
  /// Waits for the block; how many threads gave a predicate that is not 0.
  int (*block_barrier)(int predicate);
  void (*warp_barrier)(unsigned mask);
  /// The `size` bytes of lane `source`; below 0: the caller's own.
  void (*shuffle)(unsigned mask, void* value, int size, int source);
  unsigned (*ballot)(unsigned mask, int predicate);
  unsigned lane;
  unsigned char* dynamic_shared;
};

struct Index {
  unsigned x, y, z;
};

/// The variables of one shared object.
struct Variables {
  Index *thread, *block, *threads, *blocks;
  Machine** machine;
  unsigned char *shared_begin, *shared_end;
};

/// A kernel in a shared object: calls it with these parameter words.
struct Entry {
  void (*run)(const void* words);
  unsigned long long words;
};

}  // namespace shim
