#include "cpu/workspace.h"

#include <new>

#include "host_calls.h"

namespace weft::detail {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t first_block = 256 * 1024;
constexpr std::size_t largest_kept = std::size_t{16} << 20;

// Blocks in use form a chain, the newest first; when all is given back one block is left.
struct Block {
  Block* before;
  std::size_t bytes;  // of the whole block, this header with it
  std::size_t used;
};
constexpr std::size_t header = line;
static_assert(sizeof(Block) <= header);

void* allocate_or_throw(std::size_t bytes) {
  void* block = host_calls().allocate(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}

class Workspace {
 public:
  ~Workspace() {
    while (top_) pop();
  }

  void* take(std::size_t bytes) {
    if (!top_ || top_->bytes - top_->used < bytes) push(bytes);
    void* data = reinterpret_cast<char*>(top_) + top_->used;
    top_->used += bytes;
    return data;
  }

  void give_back(std::size_t bytes) noexcept {
    top_->used -= bytes;
    if (top_->used == header && top_->before) pop();
  }

 private:
  void push(std::size_t bytes) {
    std::size_t size = top_ ? 2 * top_->bytes : first_block;
    while (size < bytes + header) size *= 2;
    if (top_ && top_->used == header) pop();  // unused and too small
    Block* block = static_cast<Block*>(allocate_or_throw(size));
    *block = {top_, size, header};
    top_ = block;
  }

  // An empty block below a larger one is the one to go.
  void pop() noexcept {
    Block* gone = top_;
    if (gone->before && gone->before->used == header) {
      gone = gone->before;
      top_->before = gone->before;
    } else {
      top_ = gone->before;
    }
    host_calls().free(gone, gone->bytes);
  }

  Block* top_ = nullptr;
};

thread_local Workspace workspace;

std::size_t round_up(std::size_t bytes) { return (bytes + line - 1) / line * line; }

}  // namespace

Scratch::Scratch(std::size_t bytes) : size_(round_up(bytes)), own_(size_ > largest_kept) {
  data_ = own_ ? allocate_or_throw(size_) : workspace.take(size_);
}

Scratch::~Scratch() {
  if (own_)
    host_calls().free(data_, size_);
  else
    workspace.give_back(size_);
}

}  // namespace weft::detail
