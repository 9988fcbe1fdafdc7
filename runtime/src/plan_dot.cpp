// Pictures of plans: devices as clusters, their streams inside, steps in these.
#include <weft/runtime/plan.h>

#include <array>
#include <charconv>
#include <map>
#include <ostream>
#include <set>
#include <utility>

#include <weft/graph/detail/dot.h>
#include <weft/graph/scope.h>

#include "buffer_pool.h"
#include "engine.h"

namespace weft {

namespace detail {

namespace {

std::string microseconds(double us) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, us, std::chars_format::fixed, 1);
  return std::string(text, end.ec == std::errc() ? end.ptr : text) + " us";
}

/// "train.cpp:12"
std::string place_of(const Provenance& from) {
  std::string_view file = from.file;
  file.remove_prefix(file.rfind('/') + 1);
  return std::string(file) + ":" + std::to_string(from.line);
}

bool is_event(const FrozenStep& step) noexcept {
  return step.kind == StepKind::record || step.kind == StepKind::wait;
}

bool is_move(const FrozenStep& step) noexcept {
  return step.kind == StepKind::transfer || step.kind == StepKind::upload;
}

/// What is drawn inside a device's cluster.
struct DeviceParts {
  std::vector<std::uint32_t> leaves;    // buffers
  std::vector<std::uint32_t> arrivals;  // moves whose stream is another device's
  std::vector<std::uint32_t> outputs;
  std::array<std::vector<std::uint32_t>, stream_kinds> steps;
};

class PlanPicture {
 public:
  PlanPicture(std::ostream& out, const Plan& plan)
      : bound_(plan.bound()), plan_(*bound_.plan), steps_(plan.steps()), dot_(out, title()) {}

  void run() {
    place_parts();
    for (const auto& [code, parts] : parts_) add_device(devices_.at(code), parts);
    add_data_edges();
    add_output_edges();
    add_event_edges();
    dot_.finish();
  }

 private:
  std::string title() const {
    double us = 0;
    std::size_t count = 0;
    for (const FrozenStep& step : plan_.steps) {
      us += step.predicted_us;
      count += !is_event(step);
    }
    return "plan of " + std::to_string(count) + " steps, " + microseconds(us) + " predicted";
  }

  DeviceParts& parts_of(Device device) {
    devices_.emplace(device.code(), device);
    return parts_[device.code()];
  }

  void place_parts() {
    std::vector<bool> drawn(plan_.buffers.size(), false);
    const auto note_leaf = [&](std::uint32_t buffer) {
      if (plan_.buffers[buffer].home != PlanBuffer::Home::leaf || drawn[buffer]) return;
      drawn[buffer] = true;
      parts_of(plan_.buffers[buffer].device).leaves.push_back(buffer);
    };
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const FrozenStep& step = plan_.steps[i];
      if (is_event(step)) continue;
      parts_of(step.device).steps[static_cast<std::size_t>(step.stream)].push_back(i);
      for (const StepInput& input : step.inputs) note_leaf(input.buffer);
      if (leaves_its_device(step)) parts_of(destination(step)).arrivals.push_back(i);
    }
    for (std::uint32_t i = 0; i < plan_.outputs.size(); ++i) {
      note_leaf(plan_.outputs[i].buffer);
      parts_of(plan_.buffers[plan_.outputs[i].buffer].device).outputs.push_back(i);
    }
  }

  Device destination(const FrozenStep& step) const {
    return plan_.buffers[step.outputs[0].buffer].device;
  }

  /// A move that is carried out by its source: it gets a point on the device where it arrives.
  bool leaves_its_device(const FrozenStep& step) const {
    return is_move(step) && destination(step) != step.device;
  }

  // ---- nodes

  void add_device(Device device, const DeviceParts& parts) {
    DotLabel label;
    label.line(device.str());
    for (const DevicePeak& peak : plan_.peaks)
      if (peak.device == device)
        label.line("peak " + std::to_string(peak.peak) + " bytes (" + text_of_bytes(peak.peak) +
                   ")");
    dot_.begin_cluster(label);
    for (const std::uint32_t buffer : parts.leaves) add_leaf(buffer);
    for (const std::uint32_t step : parts.arrivals)
      dot_.node({'a', step}, DotLook::arrival, DotLabel());
    for (const std::uint32_t output : parts.outputs) add_output(output);
    for (std::size_t s = 0; s < parts.steps.size(); ++s) {
      if (parts.steps[s].empty()) continue;
      dot_.begin_cluster(DotLabel().line(name_of(static_cast<StreamKind>(s))));
      for (const std::uint32_t step : parts.steps[s]) add_step(step);
      dot_.end_cluster();
    }
    dot_.end_cluster();
  }

  void add_step(std::uint32_t i) {
    const FrozenStep& frozen = plan_.steps[i];
    const Step& step = steps_[i];
    DotLabel label;
    label.line(std::to_string(i) + " " + std::string(name_of(step.kind)) + ", " +
               microseconds(step.predicted_us));
    const std::string scopes = scopes_of(frozen);
    if (!scopes.empty()) label.line(scopes);
    if (!step.where.empty()) label.line(step.where);
    if (const Graph* body = body_of(frozen))
      label.ops(*body);
    else
      label.line(step.shape.empty() ? step.what : step.what + " " + step.shape);
    const DotLook look = is_move(frozen)             ? DotLook::transfer
                         : step.kind == StepKind::view ? DotLook::view
                                                       : look_of(info(frozen.op).kind);
    dot_.node({'s', i}, look, label, step.reason);
  }

  const Graph* body_of(const FrozenStep& step) const {
    if (step.vertex < 0) return nullptr;
    const std::int32_t body = plan_.graph.vertices[static_cast<std::size_t>(step.vertex)].body;
    return body < 0 ? nullptr : &plan_.graph.bodies[static_cast<std::size_t>(body)];
  }

  const ScopeName* scope_of(std::uint32_t ordinal) const {
    return ordinal < bound_.provenance.size() ? bound_.provenance[ordinal].scope : nullptr;
  }

  /// The scopes of a step's ops, each once.
  std::string scopes_of(const FrozenStep& step) const {
    if (step.vertex < 0) return {};
    std::string text;
    std::set<std::string_view> seen;
    const auto note = [&](std::uint32_t ordinal) {
      const ScopeName* scope = scope_of(ordinal);
      if (!scope || !*scope->text || !seen.insert(scope->text).second) return;
      text += (text.empty() ? "" : ", ") + std::string(scope->text);
    };
    if (const Graph* body = body_of(step)) {
      for_each_member(*body, [&](const Graph& graph, VertexId v) {
        note(graph.vertices[v].ordinal);
      });
    } else {
      note(step.ordinal);
    }
    return text;
  }

  void add_leaf(std::uint32_t buffer) {
    if (leaf_vertices_.empty()) find_leaf_vertices();
    const PlanBuffer& leaf = plan_.buffers[buffer];
    const std::uint32_t number = leaf.index / 2;
    const VertexId v = number < leaf_vertices_.size() ? leaf_vertices_[number] : no_vertex;
    DotLabel label;
    label.line("leaf " + std::to_string(number));
    if (v != no_vertex) {
      label.line(text_of(plan_.graph.spec({v, leaf.index % 2})));
      const std::uint32_t ordinal = plan_.graph.vertices[v].ordinal;
      if (ordinal < bound_.provenance.size()) label.line(place_of(bound_.provenance[ordinal]));
    }
    dot_.node({'l', buffer}, DotLook::leaf, label, std::to_string(leaf.bytes) + " bytes");
  }

  void find_leaf_vertices() {
    leaf_vertices_.assign(plan_.leaf_count, no_vertex);
    for (VertexId v = 0; v < plan_.graph.size(); ++v) {
      const std::int32_t leaf = plan_.graph.vertices[v].leaf;
      if (leaf >= 0) leaf_vertices_[static_cast<std::size_t>(leaf)] = v;
    }
  }

  void add_output(std::uint32_t i) {
    const PlanOutput& output = plan_.outputs[i];
    DotLabel label;
    label.line(role_of(i)).line(text_of(Spec{output.map.shape, output.dtype}));
    if (plan_.buffers[output.buffer].replaces >= 0) label.line("in place");
    dot_.node({'o', i}, DotLook::output, label);
  }

  std::string role_of(std::uint32_t i) const {
    if (i >= plan_.graph.outputs.size()) return "result";
    const Value value = plan_.graph.outputs[i];
    const Vertex* vertex = &plan_.graph.vertices[value.vertex];
    std::uint32_t output = value.output;
    for (const Graph* graph = &plan_.graph; vertex->body >= 0;) {
      graph = &graph->bodies[static_cast<std::size_t>(vertex->body)];
      const Value inner = graph->outputs[output];
      vertex = &graph->vertices[inner.vertex];
      output = inner.output;
    }
    const Keep keep = vertex->keep[output % most_outputs];
    if (vertex->assigns) return "a Variable's new value";
    return keep == Keep::gradient ? "kept for a gradient" : "result";
  }

  // ---- edges

  DotId maker_of(std::uint32_t buffer) const {
    return plan_.buffers[buffer].home == PlanBuffer::Home::leaf || maker_[buffer] == no_step
               ? DotId{'l', buffer}
           : leaves_its_device(plan_.steps[maker_[buffer]]) ? DotId{'a', maker_[buffer]}
                                                            : DotId{'s', maker_[buffer]};
  }

  void add_data_edges() {
    maker_.assign(plan_.buffers.size(), no_step);
    std::vector<std::uint32_t> last_reader(plan_.buffers.size(), no_step);
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const FrozenStep& step = plan_.steps[i];
      const bool departs = leaves_its_device(step);
      const std::string bytes = std::to_string(step.bytes) + " bytes";
      for (const StepInput& input : step.inputs) {
        // One edge, by however many maps the step reads the buffer.
        if (std::exchange(last_reader[input.buffer], i) == i) continue;
        if (is_move(step) && !departs)
          dot_.edge(maker_of(input.buffer), {'s', i}, DotEdge::transfer, bytes);
        else
          dot_.edge(maker_of(input.buffer), {'s', i});
      }
      if (departs) dot_.edge({'s', i}, {'a', i}, DotEdge::transfer, bytes);
      for (const StepOutput& output : step.outputs) maker_[output.buffer] = i;
    }
  }

  /// An output that is a view comes from its view step, which owns no buffer.
  void add_output_edges() {
    std::map<VertexId, std::uint32_t> views;
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i)
      if (plan_.steps[i].kind == StepKind::view && plan_.steps[i].vertex >= 0)
        views.emplace(static_cast<VertexId>(plan_.steps[i].vertex), i);
    for (std::uint32_t i = 0; i < plan_.outputs.size(); ++i) {
      DotId from = maker_of(plan_.outputs[i].buffer);
      if (i < plan_.graph.outputs.size())
        if (const auto view = views.find(plan_.graph.outputs[i].vertex); view != views.end())
          from = {'s', view->second};
      dot_.edge(from, {'o', i});
    }
  }

  /// From the step before the record on its stream to the one after the wait on its.
  void add_event_edges() {
    using Stream = std::pair<std::uint32_t, StreamKind>;
    std::map<Stream, std::uint32_t> last;
    std::map<Stream, std::vector<std::uint32_t>> waits;
    std::vector<std::uint32_t> recorded(plan_.event_count, no_step);
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const FrozenStep& step = plan_.steps[i];
      const Stream stream{step.device.code(), step.stream};
      if (step.kind == StepKind::record) {
        if (const auto it = last.find(stream); it != last.end()) recorded[step.event] = it->second;
      } else if (step.kind == StepKind::wait) {
        waits[stream].push_back(step.event);
      } else {
        last[stream] = i;
        std::vector<std::uint32_t>& events = waits[stream];
        for (const std::uint32_t event : events)
          if (recorded[event] != no_step)
            dot_.edge({'s', recorded[event]}, {'s', i}, DotEdge::event,
                      "event " + std::to_string(event));
        events.clear();
      }
    }
  }

  static constexpr std::uint32_t no_step = ~0u;
  const BoundPlan& bound_;
  const FrozenPlan& plan_;
  const std::vector<Step> steps_;
  DotWriter dot_;
  std::map<std::uint32_t, DeviceParts> parts_;  // by the device's code: the cpu first
  std::map<std::uint32_t, Device> devices_;
  std::vector<VertexId> leaf_vertices_;  // by the leaf's number
  std::vector<std::uint32_t> maker_;     // by buffer: the step that wrote it
};

}  // namespace
}  // namespace detail

void write_dot(std::ostream& out, const Plan& plan) { detail::PlanPicture(out, plan).run(); }

}  // namespace weft
