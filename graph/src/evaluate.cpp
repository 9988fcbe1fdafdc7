// Evaluation as the program calls it.
#include <weft/graph/evaluate.h>

#include <vector>

#include <weft/graph/detail/capture.h>
#include <weft/graph/detail/evaluator.h>
#include <weft/graph/detail/passes.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/graph.h>

namespace weft {

namespace detail {

namespace {
Evaluator* installed = nullptr;

std::vector<Ref> refs_of(const TensorList& tensors, const char* op) try {
  std::vector<Ref> refs;
  for (const TensorArg& tensor : tensors.args()) {
    defined(tensor, op);
    refs.push_back(tensor.ref());
  }
  return refs;
} catch (const std::bad_alloc&) {
  fail_memory(op, tensors.at());
}
}  // namespace

Evaluator& evaluator() {
  WEFT_ENSURE(installed != nullptr);
  return *installed;
}

void install_evaluator(Evaluator* e) noexcept { installed = e; }

void read_elements(Ref ref, void* destination, Where at) {
  evaluator().read(ref, destination, at);
}

}  // namespace detail

void eval(const TensorList& roots) {
  detail::evaluator().evaluate(detail::refs_of(roots, "eval"), roots.at());
}

void flush(Where at) { detail::evaluator().flush(at); }

Graph capture(const TensorList& roots) try {
  const std::vector<detail::Ref> refs = detail::refs_of(roots, "capture");
  const std::lock_guard lock(detail::engine_mutex());
  detail::Capture captured;
  detail::capture_nodes(refs, captured);
  return Graph(std::make_shared<const detail::Graph>(detail::build_graph(captured)));
} catch (const std::bad_alloc&) {
  detail::fail_memory("capture", roots.at());
}

std::size_t Graph::size() const noexcept { return graph_->size(); }
std::string Graph::verify() const { return detail::verify(*graph_, detail::Stage::captured); }

}  // namespace weft
