// The table of passes, and their runner.
#include <weft/graph/detail/passes.h>

#include <atomic>
#include <chrono>

namespace weft::detail {

namespace {

constexpr Pass table[] = {
    {"canonicalise", canonicalise, Stage::canonical,
     "first: all that follows sees maps on edges and no view"},
    {"merge", merge_common, Stage::canonical,
     "after views are maps, so that equal readings of a value are seen to be equal"},
    {"place", place, Stage::placed, "before transfers, which follow from it"},
    {"transfers", insert_transfers, Stage::transferred,
     "before fusion, whose groups are on one device"},
    {"sweep", merge_common, Stage::transferred,
     "moves that an elided round trip has left unread; and copies of one value made twice"},
    {"fuse", fuse, Stage::fused, "after it only whole groups are joined"},
    {"join rows", join_rows, Stage::fused, "last: its members are steps as they stand"},
};

#ifdef NDEBUG
std::atomic<bool> verification{false};
#else
std::atomic<bool> verification{true};
#endif

void check(const Graph& graph, Stage stage, const char* after) {
  const std::string problem = verify(graph, stage);
  if (!problem.empty())
    fail<InternalError>(Where(), std::string("after ") + after + ": " + problem);
}

}  // namespace

std::span<const Pass> passes() noexcept { return table; }

void set_verification(bool on) noexcept { verification = on; }
bool verification_enabled() noexcept { return verification; }

Graph run_passes(Graph graph, const PassContext& context, const PassObserver& observer) {
  if (verification) check(graph, Stage::captured, "capture");
  for (const Pass& pass : table) {
    const auto start = std::chrono::steady_clock::now();
    graph = pass.run(std::move(graph), context);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    if (verification) check(graph, pass.stage, pass.name);
    if (observer) observer(pass, graph, took.count());
  }
  return graph;
}

}  // namespace weft::detail
