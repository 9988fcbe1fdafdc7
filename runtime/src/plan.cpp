// Plans as the program sees them.
#include <weft/runtime/plan.h>

#include <array>
#include <iomanip>
#include <ostream>
#include <sstream>

#include <weft/graph/scope.h>

#include "buffer_pool.h"
#include "engine.h"

namespace weft {

std::string_view name_of(StepKind kind) noexcept {
  constexpr std::array<std::string_view, 10> names = {"kernel", "library",   "transfer", "upload",
                                                      "view",   "assign",    "record",   "wait",
                                                      "free",   "collective"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(StreamKind kind) noexcept {
  constexpr std::array<std::string_view, 3> names = {"compute", "host-to-device", "device-to-host"};
  return names[static_cast<std::size_t>(kind)];
}

namespace detail {

namespace {

/// "mul add relu": the ops that the program wrote, in order; conversions are left out beside
/// others.
std::string ops_of(const FrozenPlan& plan, const FrozenStep& step) {
  if (step.kind == StepKind::record || step.kind == StepKind::wait)
    return "event " + std::to_string(step.event);
  if (!step.program && !step.rows) return std::string(info(step.op).name);
  const Vertex& vertex = plan.graph.vertices[static_cast<std::size_t>(step.vertex)];
  std::string text;
  for_each_member(plan.graph.bodies[static_cast<std::size_t>(vertex.body)],
                  [&](const Graph& graph, VertexId v) {
                    if (!text.empty()) text += ' ';
                    text += info(graph.vertices[v].op).name;
                  });
  return text;
}

std::string shape_of(const FrozenStep& step) {
  if (step.outputs.empty()) return {};
  const Spec& spec = step.outputs[0].spec;
  std::string text = std::string(name_of(spec.dtype)) + spec.shape.str();
  if (step.outputs.size() > 1) text += " +" + std::to_string(step.outputs.size() - 1);
  return text;
}

/// The file's name without its folders: a plan reads the same wherever the program was built.
std::string place_of(const Provenance& from) {
  std::string_view file = from.file;
  if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(from.line);
}

}  // namespace
}  // namespace detail

Plan::Plan(std::shared_ptr<detail::BoundPlan> bound) noexcept : bound_(std::move(bound)) {}

std::vector<Step> Plan::steps() const {
  std::vector<Step> result;
  const detail::FrozenPlan& plan = *bound_->plan;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const detail::FrozenStep& frozen = plan.steps[i];
    Step step{i,
              frozen.kind,
              frozen.device,
              frozen.stream,
              detail::ops_of(plan, frozen),
              detail::shape_of(frozen),
              {},
              {},
              frozen.bytes,
              frozen.predicted_us,
              frozen.reason};
    if (frozen.vertex >= 0) {
      const detail::Provenance& from = bound_->provenance[frozen.ordinal];
      step.where = detail::place_of(from);
      if (from.scope) step.scope = from.scope->text;
    }
    result.push_back(std::move(step));
  }
  return result;
}

std::size_t Plan::count(StepKind kind) const noexcept {
  std::size_t n = 0;
  for (const detail::FrozenStep& step : bound_->plan->steps) n += step.kind == kind;
  return n;
}

std::size_t Plan::peak_bytes(Device device) const noexcept {
  for (const detail::DevicePeak& peak : bound_->plan->peaks)
    if (peak.device == device) return peak.peak;
  return 0;
}

std::string Plan::source(std::size_t step, Where at) const {
  const detail::FrozenPlan& plan = *bound_->plan;
  if (step >= plan.steps.size())
    detail::fail<IndexError>(at, "source: step " + std::to_string(step) + " of a plan with " +
                                     std::to_string(plan.steps.size()) +
                                     " steps; give one of steps()");
  const detail::FrozenStep& frozen = plan.steps[step];
  return frozen.program ? detail::to_text(*frozen.program) : detail::ops_of(plan, frozen) + "\n";
}

void Plan::run(Where at) const try {
  std::vector<detail::Ref> roots;
  for (const detail::Handle& root : bound_->roots) roots.push_back(root.ref());
  detail::Engine::instance().evaluate(roots, at);
} catch (const std::bad_alloc&) {
  detail::fail_memory("run", at);
}

Plan make_plan(const TensorList& roots) { return Plan(detail::Engine::instance().plan_for(roots)); }

namespace {

/// What the program named may hold anything: a terminal gets no control character of it.
std::string printable(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      result += c;
    } else {
      result += "\\x";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    }
  }
  return result;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Plan& plan) {
  const std::vector<Step> steps = plan.steps();
  std::vector<std::array<std::string, 9>> rows{
      {"step", "kind", "device", "stream", "what", "gives", "bytes", "predicted", "why"}};
  for (const Step& step : steps) {
    std::ostringstream time;
    time << std::fixed << std::setprecision(1) << step.predicted_us << " us";
    rows.push_back({std::to_string(step.index), std::string(name_of(step.kind)), step.device.str(),
                    std::string(name_of(step.stream)),
                    printable(step.scope.empty() ? step.what : step.scope + ": " + step.what),
                    step.shape, std::to_string(step.bytes), time.str(), step.reason});
  }
  std::array<std::size_t, 9> widths{};
  constexpr std::size_t widest = 48;
  for (auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c + 1 < row.size() && row[c].size() > widest)
        row[c] = row[c].substr(0, widest - 3) + "...";
      widths[c] = std::max(widths[c], row[c].size());
    }
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool number = c == 0 || c == 6 || c == 7;
      out << (number ? std::right : std::left);
      if (c + 1 < row.size())
        out << std::setw(static_cast<int>(widths[c])) << row[c] << "  ";
      else
        out << row[c];
    }
    out << '\n';
  }
  out << std::left;
  for (const detail::DevicePeak& peak : plan.bound().plan->peaks)
    out << "peak on " << peak.device.str() << ": " << detail::text_of_bytes(peak.peak)
        << " (scratch " << detail::text_of_bytes(peak.scratch) << ")\n";
  return out;
}

}  // namespace weft
