// Scheduling: steps in order, on streams, with an event on every edge between streams.
#include "schedule.h"

#include <algorithm>
#include <map>
#include <random>

#include <weft/codegen/product.h>

namespace weft::detail {

namespace {

bool is_argument(const Vertex& v) { return info(v.op).is_leaf() && v.leaf < 0; }

// A sleeping thread needs about 10 µs to be there, a busy machine's more.
constexpr double quick_us = 20;
// Of an op over the least that the cpu computes at once, a block: it shows where there is little else.
constexpr double block_us = 0.02;

// Of a plan's moves to devices, in all: runs in flight have this memory each.
constexpr std::size_t most_bytes_sent_ahead = std::size_t{256} << 20;

class Scheduler {
 public:
  Scheduler(Graph&& graph, const PassContext& context) : context_(context) {
    plan_.graph = std::move(graph);
  }

  FrozenPlan run() {
    const Graph& graph = plan_.graph;
    plan_.leaf_count = graph.leaf_count;
    plan_.argument_count = graph.argument_count;
    plan_.numerics = context_.options.numerics;
    plan_.matmul_precision = context_.options.matmul_precision;
    make_buffers();
    for (const VertexId v : order()) add_step(v);
    add_outputs();
    add_events();
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const OpKind kind = info(plan_.steps[i].op).kind;
      if (kind == OpKind::index || kind == OpKind::call) plan_.fallible.push_back(i);
    }
    note_lifetimes();
    const Clocks clocks(plan_);
    plan_.one_stream = clocks.stream_count() <= 1;
    plan_memory(plan_, clocks, context_.options.reuse_memory);
    check_in_place(clocks);
    plan_.segments = segments_of(plan_);
    plan_.is_quick = is_quick();
    return std::move(plan_);
  }

 private:
  bool is_quick() const {
    double microseconds = 0;
    for (const FrozenStep& step : plan_.steps) {
      if (info(step.op).kind == OpKind::call) return false;
      microseconds += step.predicted_us;
      if (step.program) microseconds += block_us * static_cast<double>(step.program->code.size());
    }
    return plan_.segments.size() == 1 && microseconds <= quick_us;
  }

  // ---- buffers

  std::uint32_t& buffer_of(Value value) {
    return buffers_[first_output_[value.vertex] + value.output];
  }

  /// Every output of every vertex has a number; views share their base's buffer.
  void make_buffers() {
    const Graph& graph = plan_.graph;
    first_output_.resize(graph.size());
    std::size_t count = 0;
    for (VertexId v = 0; v < graph.size(); ++v) {
      first_output_[v] = count;
      count += graph.vertices[v].output_count;
    }
    buffers_.assign(count, 0);
    for (const Assignment& a : graph.assignments)
      replaced_.try_emplace({a.value.vertex, a.value.output}, a.replaced_leaf);
    std::vector<bool> wanted(count, false);
    for (const Value output : graph.outputs)
      wanted[first_output_[output.vertex] + output.output] = true;
    for (VertexId v = 0; v < graph.size(); ++v) {
      const Vertex& vertex = graph.vertices[v];
      if (is_argument(vertex) || info(vertex.op).is_view()) continue;
      for (std::uint32_t o = 0; o < vertex.output_count; ++o)
        buffer_of({v, o}) = add_buffer({v, o}, wanted[first_output_[v] + o]);
    }
  }

  std::uint32_t add_buffer(Value value, bool wanted) {
    const Vertex& vertex = plan_.graph.vertices[value.vertex];
    const Spec spec = plan_.graph.spec(value);
    PlanBuffer buffer{};
    buffer.device = vertex.device;
    buffer.bytes = static_cast<std::size_t>(spec.shape.numel()) * size_of(spec.dtype);
    if (vertex.leaf >= 0) {
      buffer.home = PlanBuffer::Home::leaf;
      buffer.index =
          leaf_slot(plan_.leaf_count, static_cast<std::uint32_t>(vertex.leaf), value.output);
      plan_.has_wide_leaves = plan_.has_wide_leaves || value.output > 1;
    } else if (wanted) {
      buffer.home = PlanBuffer::Home::output;
      buffer.index = plan_.output_buffers++;
      if (const auto it = replaced_.find({value.vertex, value.output}); it != replaced_.end())
        buffer.replaces = it->second;
    } else {
      buffer.home = PlanBuffer::Home::scratch;
    }
    plan_.buffers.push_back(buffer);
    return static_cast<std::uint32_t>(plan_.buffers.size() - 1);
  }

  /// A value's buffer, and the map by which `outer` reads it there: through a view to its base.
  std::pair<std::uint32_t, IndexMap> locate(Value value, IndexMap outer) {
    const Graph& graph = plan_.graph;
    while (info(graph.vertices[value.vertex].op).is_view()) {
      const InEdge& edge = graph.inputs(value.vertex)[0];
      IndexMap through;
      WEFT_ENSURE(compose(outer, graph.vertices[value.vertex].shape, graph.map_of(edge), through));
      outer = std::move(through);
      value = edge.source;
    }
    return {buffer_of(value), std::move(outer)};
  }

  // ---- order

  /// The graph's own order, which is near the recorded one; or, for tests, a random legal one.
  std::vector<VertexId> order() {
    const Graph& graph = plan_.graph;
    std::vector<VertexId> result(graph.size());
    for (VertexId v = 0; v < graph.size(); ++v) result[v] = v;
    if (context_.options.order_seed == 0) return result;
    std::mt19937_64 random(context_.options.order_seed);
    std::vector<std::uint32_t> waiting(graph.size(), 0);
    std::vector<std::vector<VertexId>> readers(graph.size());
    for (VertexId v = 0; v < graph.size(); ++v)
      for (const InEdge& edge : graph.inputs(v)) {
        ++waiting[v];
        readers[edge.source.vertex].push_back(v);
      }
    std::vector<VertexId> ready;
    for (VertexId v = 0; v < graph.size(); ++v)
      if (waiting[v] == 0) ready.push_back(v);
    result.clear();
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      const VertexId v = ready.back();
      ready.pop_back();
      result.push_back(v);
      for (const VertexId reader : readers[v])
        if (--waiting[reader] == 0) ready.push_back(reader);
    }
    return result;
  }

  // ---- steps

  void add_step(VertexId v) {
    const Graph& graph = plan_.graph;
    const Vertex& vertex = graph.vertices[v];
    const OpInfo& row = info(vertex.op);
    if (row.is_leaf()) return;
    FrozenStep step{};
    step.kind = kind_of(vertex, row);
    step.op = vertex.op;
    step.attrs = vertex.attrs;
    step.ordinal = vertex.ordinal;
    step.vertex = static_cast<std::int32_t>(v);
    step.reason = graph.reasons[vertex.reason];
    step.guards_state = vertex.assigns;
    step.device = vertex.device;
    step.stream = StreamKind::compute;
    for (const InEdge& edge : graph.inputs(v)) {
      WEFT_ENSURE(!is_argument(graph.vertices[edge.source.vertex]));
      auto [buffer, map] = locate(edge.source, graph.map_of(edge));
      const std::size_t size = size_of(graph.spec(edge.source).dtype);
      const bool dense =
          map.is_identity(static_cast<std::int64_t>(plan_.buffers[buffer].bytes / size));
      step.inputs.push_back({buffer, graph.spec(edge.source).dtype, std::move(map), dense});
    }
    if (!row.is_view())
      for (std::uint32_t o = 0; o < vertex.output_count; ++o)
        step.outputs.push_back({buffer_of({v, o}), graph.spec({v, o})});
    if (row.kind == OpKind::transfer) choose_copy_stream(step);
    if (vertex.body >= 0 && vertex.fused_kind == FusedKind::rows)
      step.rows = row_group_of(graph, vertex, context_.options.row_block_bytes);
    else if (vertex.body >= 0)
      step.program = std::make_shared<const Program>(
          lower(graph.bodies[static_cast<std::size_t>(vertex.body)]));
    predict(step, row);
    if (step.kind == StepKind::library) say_how(step);
    plan_.steps.push_back(std::move(step));
  }

  static StepKind kind_of(const Vertex& vertex, const OpInfo& row) {
    if (row.kind == OpKind::transfer)
      return vertex.op == upload_op() ? StepKind::upload : StepKind::transfer;
    if (row.is_view()) return StepKind::view;
    return row.exactness == Exactness::library ? StepKind::library : StepKind::kernel;
  }

  /// What carries a product out, where the CPU's own library does not.
  void say_how(FrozenStep& step) const {
    const Shape& a = step.inputs[0].map.shape;
    const Spec& c = step.outputs[0].spec;
    if (!is_floating(c.dtype)) return;
    std::string how;
    if (plan_.numerics == Numerics::strict)
      how = "strict: sums in one order";
    else if (!step.device.is_cuda())
      return;
    else if (!prefers_library(c.shape.numel() / std::max<std::int64_t>(1, c.shape.back()),
                              c.shape.back(), a.back(), 1))
      how = "a generated kernel: it is small";
    else
      how = plan_.matmul_precision == MatmulPrecision::tf32 && c.dtype == DType::f32
                ? "by cuBLASLt where that can, in TF32"
                : "by cuBLASLt where that can";
    step.reason += (step.reason.empty() ? "" : "; ") + how;
  }

  /// Copies run beside the compute stream, on the accelerator that they concern.
  void choose_copy_stream(FrozenStep& step) {
    const Device source = plan_.buffers[step.inputs[0].buffer].device;
    if (step.device.is_cpu() || !source.is_cpu()) {
      step.device = source;
      step.stream = StreamKind::device_to_host;
    } else {
      step.stream = StreamKind::host_to_device;
      send_ahead(plan_.buffers[step.outputs[0].buffer]);
    }
  }

  /// Scratch memory is in use until the runs before are done with it. What comes from the host gets
  /// memory of its own, which the run gives back, so that it can come while they compute.
  void send_ahead(PlanBuffer& target) {
    if (target.home != PlanBuffer::Home::scratch ||
        target.bytes > most_bytes_sent_ahead - bytes_sent_ahead_)
      return;
    bytes_sent_ahead_ += target.bytes;
    target.home = PlanBuffer::Home::output;
    target.index = plan_.output_buffers++;
  }

  static double flops_of(const Program& program, const Shape& shape) {
    double flops = 0;
    for (const Instruction& instruction : program.code)
      flops += instruction.kind == Instruction::Kind::compute ? info(instruction.op).flops : 1;
    return flops * static_cast<double>(shape.numel());
  }

  void predict(FrozenStep& step, const OpInfo& row) {
    const DeviceCost& cost = context_.costs.of(step.device);
    double flops = 0, flops_per_us = cost.flops_per_us;
    for (const StepInput& input : step.inputs)
      step.bytes += static_cast<std::int64_t>(std::min<std::size_t>(
          plan_.buffers[input.buffer].bytes,
          static_cast<std::size_t>(input.map.shape.numel()) * size_of(input.dtype)));
    for (const StepOutput& output : step.outputs)
      step.bytes +=
          output.spec.shape.numel() * static_cast<std::int64_t>(size_of(output.spec.dtype));
    if (step.kind == StepKind::view) {
      step.bytes = 0;
      return;
    }
    if (step.kind == StepKind::transfer || step.kind == StepKind::upload) {
      step.bytes /= 2;
      const LinkCost& link = context_.costs.between(plan_.buffers[step.inputs[0].buffer].device,
                                                    plan_.buffers[step.outputs[0].buffer].device);
      step.predicted_us = link.latency_us + static_cast<double>(step.bytes) / link.bytes_per_us;
      return;
    }
    if (step.program) {
      flops = flops_of(*step.program, step.outputs[0].spec.shape);
    } else if (step.rows) {
      for (const RowMember& member : step.rows->members)
        flops += member.step.program ? flops_of(*member.step.program,
                                                step.rows->values[member.values[0]].spec.shape)
                                     : static_cast<double>(member.inputs[0].map.shape.numel());
    } else if (row.kind == OpKind::product) {
      const Shape& a = step.inputs[0].map.shape;
      flops = 2.0 * static_cast<double>(step.outputs[0].spec.shape.numel()) *
              static_cast<double>(a.back());
      flops_per_us = cost.product_flops_per_us(step.outputs[0].spec.dtype);
    } else if (!step.inputs.empty()) {
      flops = static_cast<double>(step.inputs[0].map.shape.numel());
    }
    step.predicted_us =
        cost.kernel_us +
        std::max(static_cast<double>(step.bytes) / cost.bytes_per_us, flops / flops_per_us);
  }

  void add_outputs() {
    const Graph& graph = plan_.graph;
    for (const Value output : graph.outputs) {
      const Spec spec = graph.spec(output);
      auto [buffer, map] = locate(output, IndexMap::dense(spec.shape));
      WEFT_ENSURE(map.is_contiguous());
      plan_.outputs.push_back({buffer, std::move(map), spec.dtype});
    }
  }

  // ---- streams

  /// An event wherever a step reads what another stream has made, recorded once after its maker.
  void add_events() {
    std::vector<std::uint32_t> maker(plan_.buffers.size(), ~0u);
    std::map<std::uint32_t, std::vector<std::uint32_t>> waits;  // reader → makers
    std::vector<bool> recorded(plan_.steps.size(), false);
    const auto same = [](const FrozenStep& a, const FrozenStep& b) {
      return a.device == b.device && a.stream == b.stream;
    };
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const FrozenStep& step = plan_.steps[i];
      for (const StepInput& input : step.inputs) {
        const std::uint32_t from = maker[input.buffer];
        if (from == ~0u || same(plan_.steps[from], step)) continue;
        std::vector<std::uint32_t>& mine = waits[i];
        if (std::find(mine.begin(), mine.end(), from) == mine.end()) mine.push_back(from);
        recorded[from] = true;
      }
      for (const StepOutput& output : step.outputs) maker[output.buffer] = i;
    }
    if (waits.empty()) return;
    std::vector<FrozenStep> steps;
    std::vector<std::uint32_t> event(plan_.steps.size(), 0);
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const Device device = plan_.steps[i].device;
      const StreamKind stream = plan_.steps[i].stream;
      if (const auto it = waits.find(i); it != waits.end())
        for (const std::uint32_t from : it->second)
          steps.push_back(event_step(StepKind::wait, device, stream, event[from],
                                     "until " + plan_.steps[from].device.str() + " " +
                                         std::string(name_of(plan_.steps[from].stream)) +
                                         " has made what comes next"));
      steps.push_back(std::move(plan_.steps[i]));
      if (!recorded[i]) continue;
      event[i] = plan_.event_count++;
      steps.push_back(event_step(StepKind::record, device, stream, event[i],
                                 "another stream reads what was just made"));
    }
    plan_.steps = std::move(steps);
  }

  static FrozenStep event_step(StepKind kind, Device device, StreamKind stream, std::uint32_t event,
                               std::string reason) {
    FrozenStep step{};
    step.kind = kind;
    step.device = device;
    step.stream = stream;
    step.event = event;
    step.reason = std::move(reason);
    return step;
  }

  void note_lifetimes() {
    std::vector<bool> seen(plan_.buffers.size(), false);
    const auto note = [&](std::uint32_t buffer, std::uint32_t step) {
      PlanBuffer& b = plan_.buffers[buffer];
      if (!seen[buffer]) b.first_step = step;
      seen[buffer] = true;
      b.last_step = step;
    };
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i) {
      for (const StepInput& input : plan_.steps[i].inputs) note(input.buffer, i);
      for (const StepOutput& output : plan_.steps[i].outputs) note(output.buffer, i);
    }
  }

  /// A Variable's memory may be written in place when its old value has been read by then: by
  /// earlier steps, or by the writing step itself element for element.
  void check_in_place(const Clocks& clocks) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> takers;  // leaf → output buffers
    for (std::uint32_t b = 0; b < plan_.buffers.size(); ++b)
      if (plan_.buffers[b].replaces >= 0)
        takers[2 * static_cast<std::uint32_t>(plan_.buffers[b].replaces)].push_back(b);
    if (takers.empty()) return;
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i)
      for (const StepInput& input : plan_.steps[i].inputs) {
        const PlanBuffer& read = plan_.buffers[input.buffer];
        if (read.home != PlanBuffer::Home::leaf) continue;
        const auto it = takers.find(read.index);
        if (it == takers.end()) continue;
        for (const std::uint32_t taker : it->second) forbid_unless_safe(taker, i, input, clocks);
      }
    // Outputs that are the old value itself, or a part of it.
    for (const PlanOutput& output : plan_.outputs) {
      const PlanBuffer& shared = plan_.buffers[output.buffer];
      if (shared.home != PlanBuffer::Home::leaf) continue;
      if (const auto it = takers.find(shared.index); it != takers.end())
        for (const std::uint32_t taker : it->second) plan_.buffers[taker].replaces = -1;
    }
  }

  void forbid_unless_safe(std::uint32_t taker, std::uint32_t reader, const StepInput& input,
                          const Clocks& clocks) {
    PlanBuffer& buffer = plan_.buffers[taker];
    const std::uint32_t writer = buffer.first_step;
    const bool itself = reader == writer && input.dense && plan_.steps[reader].program &&
                        plan_.buffers[input.buffer].bytes == buffer.bytes;
    if (!itself && !clocks.ordered(reader, writer)) buffer.replaces = -1;
  }

  const PassContext& context_;
  FrozenPlan plan_;
  std::vector<std::size_t> first_output_;
  std::vector<std::uint32_t> buffers_;
  std::size_t bytes_sent_ahead_ = 0;
  std::map<std::pair<VertexId, std::uint32_t>, std::int32_t> replaced_;  // value → leaf
};

}  // namespace

FrozenPlan schedule(Graph graph, const PassContext& context) {
  return Scheduler(std::move(graph), context).run();
}

}  // namespace weft::detail
