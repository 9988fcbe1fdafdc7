// A vector clock for each stream, and for each memory the last accesses of its parts.
#include "hazards.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace weft::detail {
namespace {

using Clock = std::vector<std::uint32_t>;

constexpr std::uint32_t nobody = ~std::uint32_t{0};

// A step as others see it: number on its stream's own clock.
struct Access {
  std::uint32_t stream = nobody, time = 0, step = 0;
};

// Bytes [key, end) of one memory, all with one history.
struct Cell {
  std::size_t end = 0;
  std::uint32_t owner = nobody;  // the plan buffer whose contents are there
  Access write;
  std::vector<Access> reads;  // since the write, the last of each stream
};

using Memory = std::map<std::size_t, Cell>;

// Device of scratch memory, else the index in the run's binding. A Variable's new value counts as
// in the place of the old one: if the plan allows that, it may happen.
using MemoryKey = std::pair<PlanBuffer::Home, std::uint32_t>;

struct Range {
  std::size_t begin, end;
  bool is_empty() const { return begin >= end; }
};

std::string text_of(const FrozenPlan& plan, std::uint32_t step) {
  const FrozenStep& s = plan.steps[step];
  return "step " + std::to_string(step) + " (" + std::string(name_of(s.kind)) + " on " +
         s.device.str() + " " + std::string(name_of(s.stream)) + ")";
}

std::string text_of(std::uint32_t buffer, Range bytes) {
  return "bytes " + std::to_string(bytes.begin) + " to " + std::to_string(bytes.end) +
         " of buffer " + std::to_string(buffer);
}

class Checker {
 public:
  explicit Checker(const FrozenPlan& plan) : plan_(plan), events_(plan.event_count) {}

  std::string check() {
    if (!check_buffers()) return hazard_;
    for (std::uint32_t i = 0; i < plan_.steps.size(); ++i)
      if (!check_step(i)) return hazard_;
    check_outputs();
    return hazard_;
  }

 private:
  bool found(std::string hazard) {
    hazard_ = std::move(hazard);
    return false;
  }

  bool check_buffers() {
    for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.home != PlanBuffer::Home::scratch) continue;
      std::size_t scratch = 0;
      for (const DevicePeak& peak : plan_.peaks)
        if (peak.device == buffer.device) scratch = peak.scratch;
      if (buffer.offset > scratch || buffer.bytes > scratch - buffer.offset)
        return found("buffer " + std::to_string(i) + " ends beyond the " + std::to_string(scratch) +
                     " bytes of " + buffer.device.str() + "'s scratch memory");
    }
    written_.assign(plan_.buffers.size(), 0);
    return true;
  }

  bool check_step(std::uint32_t number) {
    const FrozenStep& step = plan_.steps[number];
    const std::uint32_t stream = stream_of(step.device, step.stream);
    ++clocks_[stream][stream];
    const Access self{stream, clocks_[stream][stream], number};
    switch (step.kind) {
      case StepKind::record: return record(step, self);
      case StepKind::wait: return wait(step, self);
      case StepKind::free: return free(step);
      case StepKind::view: return true;
      default: break;
    }
    if (!check_operands(step, number) || !check_overlap(step, number)) return false;
    for (const StepInput& input : step.inputs)
      if (!read(input, self)) return false;
    for (const StepOutput& output : step.outputs)
      if (!write(output, self)) return false;
    return true;
  }

  std::uint32_t stream_of(Device device, StreamKind kind) {
    const auto key = std::pair(device.code(), kind);
    const auto at = std::find(streams_.begin(), streams_.end(), key);
    if (at != streams_.end()) return static_cast<std::uint32_t>(at - streams_.begin());
    streams_.push_back(key);
    clocks_.emplace_back();
    for (Clock& clock : clocks_) clock.resize(streams_.size());
    return static_cast<std::uint32_t>(streams_.size() - 1);
  }

  bool record(const FrozenStep& step, Access self) {
    if (step.event >= events_.size())
      return found(text_of(plan_, self.step) + " names event " + std::to_string(step.event) +
                   " of " + std::to_string(events_.size()));
    if (events_[step.event])
      return found(text_of(plan_, self.step) + " records event " + std::to_string(step.event) +
                   " a second time");
    events_[step.event] = clocks_[self.stream];
    return true;
  }

  bool wait(const FrozenStep& step, Access self) {
    if (step.event >= events_.size() || !events_[step.event])
      return found(text_of(plan_, self.step) + " waits for event " + std::to_string(step.event) +
                   ", which no earlier step records");
    const Clock& then = *events_[step.event];
    Clock& now = clocks_[self.stream];
    for (std::size_t i = 0; i < then.size(); ++i) now[i] = std::max(now[i], then[i]);
    return true;
  }

  // What was there is no longer to be read; who read it still has to be waited for.
  bool free(const FrozenStep& step) {
    const auto forget = [&](std::uint32_t buffer) {
      if (buffer >= plan_.buffers.size() || plan_.buffers[buffer].home == PlanBuffer::Home::leaf)
        return;
      const Range all = place(buffer, {0, plan_.buffers[buffer].bytes});
      for_cells(memory_of(buffer), all, [&](std::size_t, Cell& cell) {
        if (cell.owner == buffer) cell.owner = nobody;
        return true;
      });
    };
    for (const StepInput& input : step.inputs) forget(input.buffer);
    for (const StepOutput& output : step.outputs) forget(output.buffer);
    return true;
  }

  bool check_operands(const FrozenStep& step, std::uint32_t number) {
    const bool crosses = step.kind == StepKind::transfer || step.kind == StepKind::upload ||
                         step.kind == StepKind::collective;
    const auto good = [&](std::uint32_t buffer, Range bytes) {
      if (buffer >= plan_.buffers.size())
        return found(text_of(plan_, number) + " names buffer " + std::to_string(buffer) + " of " +
                     std::to_string(plan_.buffers.size()));
      const PlanBuffer& memory = plan_.buffers[buffer];
      if (bytes.end > memory.bytes)
        return found(text_of(plan_, number) + " touches " + text_of(buffer, bytes) +
                     ", which has " + std::to_string(memory.bytes));
      if (!crosses && memory.device != step.device)
        return found(text_of(plan_, number) + " touches buffer " + std::to_string(buffer) + " on " +
                     memory.device.str());
      return true;
    };
    for (const StepInput& input : step.inputs)
      if (!good(input.buffer, {0, 0}) || !good(input.buffer, range_of(input))) return false;
    for (const StepOutput& output : step.outputs)
      if (!good(output.buffer, range_of(output))) return false;
    return true;
  }

  // An output may take an input's place only where each element is read before it is written.
  bool check_overlap(const FrozenStep& step, std::uint32_t number) {
    for (std::size_t o = 0; o < step.outputs.size(); ++o) {
      const StepOutput& output = step.outputs[o];
      const Range to = place(output.buffer, range_of(output));
      for (std::size_t other = 0; other < o; ++other)
        if (overlap(output.buffer, to, step.outputs[other].buffer,
                    place(step.outputs[other].buffer, range_of(step.outputs[other]))))
          return found(text_of(plan_, number) + " has two outputs in the same memory");
      for (const StepInput& input : step.inputs) {
        const Range from = place(input.buffer, range_of(input));
        if (!overlap(output.buffer, to, input.buffer, from)) continue;
        const bool by_element = input.dense && from.begin == to.begin &&
                                size_of(input.dtype) == size_of(output.spec.dtype) &&
                                (step.program || step.kind == StepKind::assign);
        if (!by_element)
          return found(text_of(plan_, number) + " writes buffer " + std::to_string(output.buffer) +
                       " over buffer " + std::to_string(input.buffer) + ", which it still reads");
      }
    }
    return true;
  }

  bool read(const StepInput& input, Access self) {
    const std::uint32_t buffer = input.buffer;
    const Range bytes = range_of(input), there = place(buffer, bytes);
    if (there.is_empty()) return true;
    const bool is_leaf = plan_.buffers[buffer].home == PlanBuffer::Home::leaf;
    std::size_t next = there.begin;
    const bool good = for_cells(memory_of(buffer), there, [&](std::size_t begin, Cell& cell) {
      if (begin != next && !is_leaf) return unwritten(self, buffer, bytes);
      next = cell.end;
      if (cell.owner != buffer) {
        if (cell.write.stream == nobody || cell.owner == nobody)
          return unwritten(self, buffer, bytes);
        return found(text_of(plan_, self.step) + " reads " + text_of(buffer, bytes) +
                     ", whose memory buffer " + std::to_string(cell.owner) + " took at " +
                     text_of(plan_, cell.write.step));
      }
      if (!is_past(cell.write, self))
        return found(text_of(plan_, self.step) + " reads " + text_of(buffer, bytes) +
                     ", written by " + text_of(plan_, cell.write.step) + ", without a wait");
      note_read(cell, self);
      return true;
    });
    if (!good) return false;
    if (is_leaf) return fill_gaps(memory_of(buffer), there, buffer, self);
    return next >= there.end || unwritten(self, buffer, bytes);
  }

  bool write(const StepOutput& output, Access self) {
    const std::uint32_t buffer = output.buffer;
    const Range bytes = range_of(output), there = place(buffer, bytes);
    written_[buffer] = std::max(written_[buffer], bytes.end);
    if (there.is_empty()) return true;
    Memory& memory = memory_of(buffer);
    const auto early = [&](const Access& other, const char* what) {
      return found(text_of(plan_, self.step) + " writes " + text_of(buffer, bytes) + ", which " +
                   text_of(plan_, other.step) + what + ", without a wait");
    };
    const bool good = for_cells(memory, there, [&](std::size_t, Cell& cell) {
      if (!is_past(cell.write, self)) return early(cell.write, " writes");
      for (const Access& reader : cell.reads)
        if (!is_past(reader, self)) return early(reader, " reads");
      return true;
    });
    if (!good) return false;
    memory.erase(memory.lower_bound(there.begin), memory.lower_bound(there.end));
    memory[there.begin] = {there.end, buffer, self, {}};
    return true;
  }

  void check_outputs() {
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i)
      if (!check_output(plan_.outputs[i], "output " + std::to_string(i))) return;
  }

  bool check_output(const PlanOutput& output, const std::string& name) {
    if (output.buffer >= plan_.buffers.size())
      return found(name + " names buffer " + std::to_string(output.buffer));
    const PlanBuffer& buffer = plan_.buffers[output.buffer];
    if (buffer.home == PlanBuffer::Home::scratch) return found(name + " lies in scratch memory");
    const Range bytes = range_of({output.buffer, output.dtype, output.map, false});
    if (bytes.end > buffer.bytes)
      return found(name + " touches " + text_of(output.buffer, bytes) + ", which has " +
                   std::to_string(buffer.bytes));
    const bool is_leaf = buffer.home == PlanBuffer::Home::leaf;
    std::size_t next = bytes.begin;
    const bool good =
        for_cells(memory_of(output.buffer), bytes, [&](std::size_t begin, Cell& cell) {
          const bool is_next = is_leaf || begin == next;
          next = cell.end;
          return is_next && cell.owner == output.buffer;
        });
    if (good && (is_leaf || bytes.is_empty() || next >= bytes.end)) return true;
    return found(name + ", " + text_of(output.buffer, bytes) + ", is not there when all has run");
  }

  bool unwritten(Access self, std::uint32_t buffer, Range bytes) {
    return found(text_of(plan_, self.step) + " reads " + text_of(buffer, bytes) +
                 ", which nothing has written");
  }

  bool is_past(const Access& access, const Access& now) const {
    return access.stream == nobody || clocks_[now.stream][access.stream] >= access.time;
  }

  static void note_read(Cell& cell, Access self) {
    for (Access& reader : cell.reads)
      if (reader.stream == self.stream) {
        reader = self;
        return;
      }
    cell.reads.push_back(self);
  }

  // Parts of a leaf that no step has touched yet: as written before the run.
  bool fill_gaps(Memory& memory, Range there, std::uint32_t buffer, Access self) {
    std::size_t next = there.begin;
    while (next < there.end) {
      const auto at = memory.lower_bound(next);
      const std::size_t end = at == memory.end() ? there.end : std::min(there.end, at->first);
      if (next < end) memory.emplace(next, Cell{end, buffer, {}, {self}});
      next = at == memory.end() || at->first >= there.end ? there.end : at->second.end;
    }
    return true;
  }

  // Calls for the cells within a range, cut at its ends, until one gives false.
  template <class F>
  static bool for_cells(Memory& memory, Range range, F action) {
    if (range.is_empty()) return true;
    cut(memory, range.begin);
    cut(memory, range.end);
    for (auto at = memory.lower_bound(range.begin); at != memory.end() && at->first < range.end;
         ++at)
      if (!action(at->first, at->second)) return false;
    return true;
  }

  static void cut(Memory& memory, std::size_t where) {
    auto at = memory.upper_bound(where);
    if (at == memory.begin()) return;
    --at;
    if (at->first == where || at->second.end <= where) return;
    Cell rest = at->second;
    at->second.end = where;
    memory.emplace(where, std::move(rest));
  }

  Memory& memory_of(std::uint32_t buffer) {
    const PlanBuffer& b = plan_.buffers[buffer];
    if (b.home == PlanBuffer::Home::scratch) return memories_[MemoryKey{b.home, b.device.code()}];
    if (b.home == PlanBuffer::Home::output && b.replaces >= 0)
      return memories_[MemoryKey{PlanBuffer::Home::leaf,
                                 2 * static_cast<std::uint32_t>(b.replaces)}];
    return memories_[MemoryKey{b.home, b.index}];
  }

  Range place(std::uint32_t buffer, Range bytes) const {
    const PlanBuffer& b = plan_.buffers[buffer];
    const std::size_t base = b.home == PlanBuffer::Home::scratch ? b.offset : 0;
    return {base + bytes.begin, base + bytes.end};
  }

  bool overlap(std::uint32_t a, Range in_a, std::uint32_t b, Range in_b) {
    return &memory_of(a) == &memory_of(b) && !in_a.is_empty() && !in_b.is_empty() &&
           in_a.begin < in_b.end && in_b.begin < in_a.end;
  }

  static Range range_of(const StepOutput& output) {
    return {0, static_cast<std::size_t>(output.spec.shape.numel()) * size_of(output.spec.dtype)};
  }

  // The bytes that an index map can reach; with a start known only to the run, all that are
  // written.
  Range range_of(const StepInput& input) const {
    const IndexMap& map = input.map;
    std::int64_t low = map.offset, high = map.offset;
    for (int d = 0; d < map.shape.ndim(); ++d) {
      const std::int64_t extent = map.shape[static_cast<std::size_t>(d)];
      if (extent == 0) return {0, 0};
      const std::int64_t reach = map.strides[static_cast<std::size_t>(d)] * (extent - 1);
      (reach < 0 ? low : high) += reach;
    }
    if (!map.terms.empty()) {
      const bool is_leaf = plan_.buffers[input.buffer].home == PlanBuffer::Home::leaf;
      return {0, is_leaf ? plan_.buffers[input.buffer].bytes : written_[input.buffer]};
    }
    if (low < 0) return {0, std::numeric_limits<std::size_t>::max()};
    const std::size_t size = size_of(input.dtype);
    return {static_cast<std::size_t>(low) * size, static_cast<std::size_t>(high + 1) * size};
  }

  const FrozenPlan& plan_;
  std::string hazard_;
  std::vector<std::pair<std::uint32_t, StreamKind>> streams_;
  std::vector<Clock> clocks_;
  std::vector<std::optional<Clock>> events_;
  std::map<MemoryKey, Memory> memories_;
  std::vector<std::size_t> written_;  // by plan buffer: how far
};

}  // namespace

std::string find_hazard(const FrozenPlan& plan) { return Checker(plan).check(); }

}  // namespace weft::detail
