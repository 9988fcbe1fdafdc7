// The plans that a program is run under.
#include "check.h"

#include <weft/graph/detail/passes.h>
#include <weft/runtime/counters.h>

#include "cpu/pool.h"
#include "engine.h"
#include "oracle.h"
#include "support/op_table.h"

namespace weft::fuzz {

using detail::Engine;
using detail::PlanOptions;
using testing::HostValue;

namespace {

bool is_falsified = false;
detail::OpId falsified_op{};
DType falsified_dtype{};

/// Back to the defaults, however the check ends.
struct Restored {
  Restored() = default;
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;
  ~Restored() {
    Engine::instance().set_options({});
    detail::limit_threads(0);
  }
};

void count(RoleCoverage& coverage, const std::vector<Tensor>& roots) {
  std::vector<Tensor> pending;
  for (const Tensor& root : roots)
    if (root.is_pending()) pending.push_back(root);
  if (pending.empty()) return;
  coverage.count_groups(Engine::instance().plan_for(pending)->plan->graph);
  detail::Capture capture;
  std::vector<detail::Ref> refs;
  for (const Tensor& root : pending) refs.push_back(root.ref());
  const std::lock_guard lock(detail::engine_mutex());
  detail::capture_nodes(refs, capture);
  coverage.count_recorded(detail::build_graph(capture));
}

struct Reference {
  std::vector<Seen> seen;
  std::vector<bool> exact;
};

std::string difference(const char* plan, const std::vector<Seen>& got, const Reference& want) {
  if (got.size() != want.seen.size()) return std::string(plan) + ": another number of results";
  for (std::size_t i = 0; i < got.size(); ++i) {
    std::string why;
    if (want.exact[i] &&
        !testing::matches(got[i].value, want.seen[i].value, {.zero_sign = true}, &why))
      return std::string(plan) + ": " + got[i].name + " differs: " + why;
  }
  return "";
}

/// A run that keeps every value, and which of those that it looks at have bits of their own.
Reference keep_all(const Program& program, std::uint64_t round, Oracle& oracle) {
  Reference result;
  std::vector<Tensor> last;
  result.seen =
      run(program, round, [&](const Recording& recording, const std::vector<Tensor>& roots) {
        oracle.hold(recording.alive());
        oracle.hold(roots);
        last = roots;
      });
  oracle.read();
  for (const Tensor& root : last) result.exact.push_back(oracle.is_exact(root.ref().node));
  return result;
}

}  // namespace

void falsify(detail::OpId op, DType dtype) {
  is_falsified = true;
  falsified_op = op;
  falsified_dtype = dtype;
}
void falsify_nothing() { is_falsified = false; }

std::string problem(const Program& program, RoleCoverage* coverage) {
  const Restored restored;
  Engine& engine = Engine::instance();
  const auto under = [&](const PlanOptions& options, std::uint64_t round,
                         const BeforeWork& before = {}) {
    engine.set_options(options);
    return run(program, round, before);
  };
  try {
    engine.clear_plans();
    Reference want;
    {
      Oracle oracle;
      oracle.is_falsified = is_falsified;
      oracle.falsified_op = falsified_op;
      oracle.falsified_dtype = falsified_dtype;
      engine.set_options({});
      want = keep_all(program, 0, oracle);
      const std::string wrong = oracle.check();
      if (!wrong.empty()) return "interpreter: " + wrong;
    }
    const auto compare = [&](const char* name, const PlanOptions& options,
                             std::uint64_t round = 0) {
      return difference(name, under(options, round), want);
    };
    std::string wrong = difference("fused",
                                   under({}, 0,
                                         [&](const Recording&, const std::vector<Tensor>& roots) {
                                           if (coverage) count(*coverage, roots);
                                         }),
                                   want);
    if (wrong.empty()) wrong = compare("unfused", {.fuse = false});
    if (wrong.empty()) wrong = compare("in another order", {.order_seed = 1 + program.code.size()});
    if (wrong.empty()) wrong = compare("without reuse of memory", {.reuse_memory = false});
    if (wrong.empty()) {
      detail::limit_threads(1);
      wrong = compare("on one thread", {});
      detail::limit_threads(0);
    }
    if (!wrong.empty()) return wrong;
    // Other data and arguments: the plans are there already.
    engine.set_options({.fuse = false});
    Oracle other;
    want = keep_all(program, 1, other);
    const Counters before = counters();
    wrong = compare("warm, with other data", {}, 1);
    if (wrong.empty() && counters().plans_made != before.plans_made)
      wrong = "a plan was made again for other data";
    return wrong;
  } catch (const InternalError& error) {
    return std::string("InternalError: ") + error.what();
  } catch (const Error&) {
    throw;  // the program's own mistake
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

}  // namespace weft::fuzz
