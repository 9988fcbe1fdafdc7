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
    set_places({});
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

namespace {

/// Runs the check with the engine's plans forgotten, and says what it throws.
std::string guarded(const std::function<std::string()>& check) {
  const Restored restored;
  try {
    Engine::instance().clear_plans();
    return check();
  } catch (const InternalError& error) {
    return std::string("InternalError: ") + error.what();
  } catch (const CompileError& error) {
    return std::string("CompileError: ") + error.what();
  } catch (const Error&) {
    throw;  // the program's own mistake
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

std::vector<Seen> run_under(const Program& program, const PlanOptions& options, std::uint64_t round,
                            const BeforeWork& before = {}) {
  Engine::instance().set_options(options);
  return run(program, round, before);
}

/// All values of a run without specialties; "" or what the interpreter says of them.
std::string reference(const Program& program, std::uint64_t round, Reference& want) {
  Oracle oracle;
  oracle.is_falsified = is_falsified;
  oracle.falsified_op = falsified_op;
  oracle.falsified_dtype = falsified_dtype;
  Engine::instance().set_options({});
  want = keep_all(program, round, oracle);
  const std::string wrong = oracle.check();
  return wrong.empty() ? "" : "interpreter: " + wrong;
}

BeforeWork counting(RoleCoverage* coverage) {
  return [coverage](const Recording&, const std::vector<Tensor>& roots) {
    if (coverage) count(*coverage, roots);
  };
}

/// Every group of rows that can be, however small, in blocks of about these bytes.
PlanOptions by_rows(std::size_t block_bytes) {
  return {.least_row_group_bytes = 0, .row_block_bytes = static_cast<std::int64_t>(block_bytes)};
}

std::string problem_here(const Program& program, RoleCoverage* coverage) {
  Reference want;
  std::string wrong = reference(program, 0, want);
  const auto compare = [&](const char* name, const PlanOptions& options, std::uint64_t round = 0) {
    return difference(name, run_under(program, options, round), want);
  };
  if (wrong.empty())
    wrong = difference("fused", run_under(program, {}, 0, counting(coverage)), want);
  if (wrong.empty()) wrong = compare("unfused", {.fuse = false});
  if (wrong.empty()) wrong = compare("by rows", by_rows(1 + program.code.size() % 5 * 100));
  if (wrong.empty()) wrong = compare("in another order", {.order_seed = 1 + program.code.size()});
  if (wrong.empty()) wrong = compare("without reuse of memory", {.reuse_memory = false});
  if (wrong.empty()) {
    detail::limit_threads(1);
    wrong = compare("on one thread", {});
    detail::limit_threads(0);
  }
  if (!wrong.empty()) return wrong;
  // Other data and arguments: the plans are there already.
  Engine::instance().set_options({.fuse = false});
  Oracle other;
  want = keep_all(program, 1, other);
  const Counters before = counters();
  wrong = compare("warm, with other data", {}, 1);
  if (wrong.empty() && counters().plans_made != before.plans_made)
    wrong = "a plan was made again for other data";
  return wrong;
}

bool mixes_rightly(const Program& program) {
  try {
    require_valid(program);
    return true;
  } catch (const DeviceError&) {
    return false;
  }
}

std::string problem_there(const Program& program, const Places& places, RoleCoverage* coverage) {
  Reference want, want_other;
  std::string wrong = reference(program, 0, want);
  if (wrong.empty()) wrong = reference(program, 1, want_other);
  if (!wrong.empty()) return wrong;
  set_places(places);
  // A number of the cpu mixes with any device, and one that is elsewhere now does not.
  if (!mixes_rightly(program)) return "";
  const auto compare = [&](const char* name, const PlanOptions& options) {
    return difference(name, run_under(program, options, 0), want);
  };
  wrong = difference("fused", run_under(program, {}, 0, counting(coverage)), want);
  if (wrong.empty())
    wrong = difference("fused, with other data", run_under(program, {}, 1), want_other);
  if (wrong.empty()) wrong = compare("unfused", {.fuse = false});
  if (wrong.empty()) wrong = compare("by rows", by_rows(1 + program.code.size() % 5 * 100));
  if (wrong.empty()) wrong = compare("in another order", {.order_seed = 1 + program.code.size()});
  if (wrong.empty()) wrong = compare("without reuse of memory", {.reuse_memory = false});
  return wrong;
}

}  // namespace

std::string problem(const Program& program, RoleCoverage* coverage) {
  return guarded([&] { return problem_here(program, coverage); });
}

std::string problem_at(const Places& places, const Program& program, RoleCoverage* coverage) {
  return guarded([&] { return problem_there(program, places, coverage); });
}

}  // namespace weft::fuzz
