#include "cpu/workspace.h"

#include <new>

#include "host_calls.h"

namespace weft::detail {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t first_block = 256 * 1024;
constexpr std::size_t largest_kept = std::size_t{16} << 20;

// Blocks form a chain, the newest and largest first. Those with something in use are at its end;
// when nothing is in use any more the largest alone is kept.
struct Block {
  Block* before;
  std::size_t bytes;  // of the whole block, this header with it
  std::size_t used;
  bool is_empty() const noexcept;
};
constexpr std::size_t header = line;
static_assert(sizeof(Block) <= header);
bool Block::is_empty() const noexcept { return used == header; }

void* allocate_or_throw(std::size_t bytes) {
  void* block = host_calls().allocate(bytes);
  if (!block) throw std::bad_alloc();
  return block;
}

class Workspace {
 public:
  ~Workspace() {
    while (top_) drop_top();
  }

  void* take(std::size_t bytes) {
    if (!top_ || top_->bytes - top_->used < bytes) push(bytes);
    void* data = reinterpret_cast<char*>(top_) + top_->used;
    top_->used += bytes;
    return data;
  }

  void give_back(std::size_t bytes) noexcept {
    Block* block = top_;
    while (block->is_empty()) block = block->before;
    block->used -= bytes;
    if (!block->is_empty() || block->before) return;
    while (Block* gone = top_->before) {
      top_->before = gone->before;
      host_calls().free(gone, gone->bytes);
    }
  }

 private:
  void push(std::size_t bytes) {
    std::size_t size = top_ ? 2 * top_->bytes : first_block;
    while (size < bytes + header) size *= 2;
    if (top_ && top_->is_empty()) drop_top();
    Block* block = static_cast<Block*>(allocate_or_throw(size));
    *block = {top_, size, header};
    top_ = block;
  }

  void drop_top() noexcept {
    Block* gone = top_;
    top_ = gone->before;
    host_calls().free(gone, gone->bytes);
  }

  Block* top_ = nullptr;
};

thread_local Workspace workspace;

// Never nothing: a block that holds something is not empty.
std::size_t round_up(std::size_t bytes) {
  return bytes == 0 ? line : (bytes + line - 1) / line * line;
}

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
