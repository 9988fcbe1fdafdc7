// Slabs of nodes, one heap a thread, and their iterative teardown.
#include <weft/graph/detail/node.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include <weft/graph/detail/variable.h>
#include <weft/graph/scope.h>

#include "fast_thread_local.h"

namespace weft::detail {

namespace {

struct Heap;

constexpr std::size_t slab_bytes = std::size_t{1} << 16;

struct alignas(64) SlabHeader {
  Heap* owner;
  std::uint32_t touched;  // the heap's epoch when a node of this slab was last taken
};
constexpr std::size_t nodes_per_slab = (slab_bytes - sizeof(SlabHeader)) / sizeof(Node);

/// A thread's nodes. Other threads give nodes back through `returned`. When the thread ends, its
/// heap waits for the next thread, since its nodes may outlive it.
struct Heap {
  std::vector<char*> slabs;
  std::size_t used_in_last = nodes_per_slab;
  Node* free_list = nullptr;
  std::atomic<Node*> returned{nullptr};
  std::size_t pending = 0;       // recorded in this epoch, less what a count found done or dead
  std::uint32_t serial = 0;      // of the last node recorded
  std::uint32_t epoch = 1;  // counts flushes, and the threads that had it
};

// Reachable for ever: nodes may die during the program's own static destruction.
std::mutex& orphan_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::vector<Heap*>& orphans() {
  static auto* list = new std::vector<Heap*>;
  return *list;
}

Heap* adopt_heap() {
  const std::lock_guard lock(orphan_mutex());
  if (orphans().empty()) return new Heap;
  Heap* heap = orphans().back();
  orphans().pop_back();
  ++heap->epoch;  // what the thread before recorded is not this one's to flush
  return heap;
}

WEFT_FAST_THREAD_LOCAL constinit Heap* mine = nullptr;

/// Gives the heap up when the thread ends.
struct HeapHolder {
  bool holds = false;
  ~HeapHolder() {
    if (!mine) return;
    mine->pending = mine->serial = 0;
    const std::lock_guard lock(orphan_mutex());
    orphans().push_back(mine);
    mine = nullptr;
  }
};

[[gnu::noinline]] Heap& take_heap() {
  thread_local HeapHolder holder;
  mine = adopt_heap();
  holder.holds = true;
  return *mine;
}

Heap& own_heap() {
  if (mine) [[likely]]
    return *mine;
  return take_heap();
}

char* slab_of(const Node* node) noexcept {
  return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(node) & ~(slab_bytes - 1));
}

Node* node_in(char* slab, std::size_t i) noexcept {
  return reinterpret_cast<Node*>(slab + sizeof(SlabHeader)) + i;
}

void add_slab(Heap& heap) {
  heap.slabs.reserve(heap.slabs.size() + 1);
  // Through operator new, so that a fault test reaches it like any other allocation.
  char* slab = static_cast<char*>(::operator new(slab_bytes, std::align_val_t{slab_bytes}));
  new (slab) SlabHeader{&heap, 0};
  heap.slabs.push_back(slab);
  heap.used_in_last = 0;
}

Node* take_slot(Heap& heap) {
  if (!heap.free_list && heap.returned.load(std::memory_order_relaxed))
    heap.free_list = heap.returned.exchange(nullptr, std::memory_order_acquire);
  if (Node* node = heap.free_list) {
    heap.free_list = node->next_free;
    return node;
  }
  if (heap.used_in_last == nodes_per_slab) add_slab(heap);
  Node* node = node_in(heap.slabs.back(), heap.used_in_last);
  new (node) Node{};
  ++heap.used_in_last;
  return node;
}

void give_back(Node* node) noexcept {
  Heap* owner = reinterpret_cast<SlabHeader*>(slab_of(node))->owner;
  if (owner == mine) {
    node->next_free = owner->free_list;
    owner->free_list = node;
    return;
  }
  Node* head = owner->returned.load(std::memory_order_relaxed);
  do node->next_free = head;
  while (!owner->returned.compare_exchange_weak(head, node, std::memory_order_release,
                                                std::memory_order_relaxed));
}

/// Whether that was the last there is. An only edge takes no atomic update: nobody else has a
/// reference to take another from.
bool drop_one_edge(Node* node) noexcept {
  if (node->counts.load(std::memory_order_acquire) == one_edge) {
    node->counts.store(0, std::memory_order_relaxed);
    return true;
  }
  return node->counts.fetch_sub(one_edge, std::memory_order_acq_rel) == one_edge;
}

/// Takes apart one dead node; inputs that die with it go on the worklist.
void take_apart(Node* node, Node*& worklist) noexcept {
  for (const Edge edge : node->inputs()) {
    Node* input = edge.node();
    if (input && drop_one_edge(input)) {
      input->next_free = worklist;
      worklist = input;
    }
  }
  if (node->inputs_more) {
    delete[] node->inputs_more;
    node->inputs_more = nullptr;
  }
  node->input_count = 0;
  node->storage = {};
  if (node->extra) {
    delete node->extra;
    node->extra = nullptr;
  }
  node->completion.reset();
  if (node->slot) {
    drop_slot_holder(node->slot);
    node->slot = nullptr;
  }
  give_back(node);
}

}  // namespace

void add_handle(Node* node) noexcept {
  node->counts.fetch_add(one_handle, std::memory_order_relaxed);
}

void drop_handle(Node* node) noexcept {
  if (node->counts.fetch_sub(one_handle, std::memory_order_acq_rel) == one_handle) destroy(node);
}

void add_edge(Node* node) noexcept {
  node->counts.fetch_add(one_edge, std::memory_order_relaxed);
}

void drop_edge(Node* node) noexcept {
  if (drop_one_edge(node)) destroy(node);
}

void handle_to_edge(Node* node) noexcept {
  node->counts.fetch_sub(one_handle - one_edge, std::memory_order_acq_rel);
}

void destroy(Node* node) noexcept {
  // Taking a node apart may end a Variable's slot, whose tensors die in turn: those are added to
  // the list of the call in progress, so that the stack stays flat.
  WEFT_FAST_THREAD_LOCAL constinit Node* worklist = nullptr;
  WEFT_FAST_THREAD_LOCAL constinit bool busy = false;
  node->next_free = worklist;
  worklist = node;
  if (busy) return;
  busy = true;
  while (Node* next = worklist) {
    worklist = next->next_free;
    take_apart(next, worklist);
  }
  busy = false;
}

Node* new_node(OpId op, std::uint32_t input_count, Where at) {
  if (const Where* line = ambient().line) at = *line;
  Heap& heap = own_heap();
  Node* node = nullptr;
  try {
    node = take_slot(heap);
    if (input_count > Node::inline_inputs) {
      try {
        node->inputs_more = new Edge[input_count];
      } catch (...) {
        give_back(node);
        throw;
      }
    }
  } catch (const std::bad_alloc&) {
    fail<OutOfMemoryError>(at, std::string(info(op).name) + ": no memory to record it");
  }
  node->op = op;
  node->dtype = DType::f32;
  node->rank = 0;
  node->output_count = 1;
  node->device = {};
  node->chosen.store(0, std::memory_order_relaxed);
  node->input_count = input_count;
  node->state.store(NodeState::pending, std::memory_order_relaxed);
  node->requires_grad = node->weak_scalar = false;
  // What is recorded without gradients is a constant to differentiation.
  node->history_released = !ambient().grad_enabled;
  node->mark = 0;
  for (Edge& edge : node->inputs_inline) edge = Edge();
  node->attrs = {};
  node->scope = ambient().scope;
  node->file = at.file();
  node->line = at.line();
  ++heap.pending;
  node->serial = ++heap.serial;
  node->epoch = reinterpret_cast<SlabHeader*>(slab_of(node))->touched = heap.epoch;
  // Last: a scan of this thread's nodes takes a node with counts as whole.
  node->counts.store(one_handle, std::memory_order_release);
  return node;
}

void drop_inputs(Node* node) noexcept {
  const std::uint32_t count = node->input_count;
  Edge* edges = count <= Node::inline_inputs ? node->inputs_inline : node->inputs_more;
  for (std::uint32_t i = 0; i < count; ++i) {
    Node* input = edges[i].node();
    edges[i] = Edge();
    if (input && drop_one_edge(input)) destroy(input);
  }
  if (node->inputs_more) {
    delete[] node->inputs_more;
    node->inputs_more = nullptr;
  }
  node->input_count = 0;
}

void for_each_recent_node(void (*visit)(Node*, void*), void* context) {
  Heap& heap = own_heap();
  for (std::size_t s = 0; s < heap.slabs.size(); ++s) {
    if (reinterpret_cast<SlabHeader*>(heap.slabs[s])->touched != heap.epoch) continue;
    const std::size_t used = s + 1 == heap.slabs.size() ? heap.used_in_last : nodes_per_slab;
    for (std::size_t i = 0; i < used; ++i) {
      Node* node = node_in(heap.slabs[s], i);
      if (node->counts.load(std::memory_order_acquire) != 0 && node->epoch == heap.epoch)
        visit(node, context);
    }
  }
}

bool add_handle_if_held(Node* node) noexcept {
  std::uint64_t counts = node->counts.load(std::memory_order_acquire);
  while (counts >= one_handle)
    if (node->counts.compare_exchange_weak(counts, counts + one_handle,
                                           std::memory_order_acq_rel))
      return true;
  return false;
}

std::size_t pending_count() noexcept { return own_heap().pending; }
void set_pending_count(std::size_t count) noexcept { own_heap().pending = count; }
void reset_pending_count() noexcept {
  Heap& heap = own_heap();
  heap.pending = heap.serial = 0;
  ++heap.epoch;
}

}  // namespace weft::detail
