// Index maps: views folded into the way a consumer reads its source.
#include <weft/graph/detail/ir.h>

namespace weft::detail {

IndexMap IndexMap::dense(const Shape& shape) {
  IndexMap map;
  map.shape = shape;
  std::int64_t stride = 1;
  for (int d = shape.ndim() - 1; d >= 0; --d) {
    map.strides[d] = stride;
    stride *= shape[d];
  }
  return map;
}

bool IndexMap::is_contiguous() const noexcept {
  if (shape.numel() == 0) return true;
  std::int64_t expected = 1;
  for (int d = shape.ndim() - 1; d >= 0; --d) {
    if (shape[d] == 1) continue;
    if (strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

bool IndexMap::is_identity(std::int64_t source_numel) const noexcept {
  return offset == 0 && terms.empty() && shape.numel() == source_numel && is_contiguous();
}

namespace {

void add_term(IndexMap& map, std::uint32_t slot, std::int64_t multiplier) {
  for (OffsetTerm& term : map.terms)
    if (term.slot == slot) {
      term.multiplier += multiplier;
      return;
    }
  map.terms.push_back({slot, multiplier});
}

/// Axes of the new shape are taken out of runs of old axes that lie in memory as one. Fails where a
/// new axis would have to span two such runs.
bool reshape_map(IndexMap& map, const Shape& shape) {
  const Shape& old = map.shape;
  std::array<std::int64_t, max_rank> strides{};
  if (old.numel() == 0 || map.is_contiguous()) {
    strides = IndexMap::dense(shape).strides;
    map.shape = shape;
    map.strides = strides;
    return true;
  }
  int next = shape.ndim() - 1;
  for (int d = old.ndim() - 1; d >= 0; --d) {
    // The run of old axes [first, d] that one stride steps through.
    std::int64_t run = old[d];
    const std::int64_t base = map.strides[d];
    while (d > 0 && (old[d - 1] == 1 || map.strides[d - 1] == run * base)) run *= old[--d];
    std::int64_t taken = 1;
    while (next >= 0 && (taken < run || shape[next] == 1)) {
      strides[next] = taken * base;
      taken *= shape[next--];
    }
    if (taken != run) return false;
  }
  for (; next >= 0; --next) {
    if (shape[next] != 1) return false;
    strides[next] = 0;
  }
  map.shape = shape;
  map.strides = strides;
  return true;
}

void permute_map(IndexMap& map, std::int64_t packed_axes) {
  const IndexMap old = map;
  for (int d = 0; d < old.shape.ndim(); ++d) {
    const int from = static_cast<int>(packed_axes >> (8 * d)) & 0xff;
    map.shape[d] = old.shape[from];
    map.strides[d] = old.strides[from];
  }
}

void slice_map(IndexMap& map, int axis, std::int64_t step, std::int64_t extent,
               std::uint32_t slot) {
  add_term(map, slot, map.strides[axis]);
  map.strides[axis] *= step;
  map.shape[axis] = extent;
}

}  // namespace

void broadcast_map(IndexMap& map, const Shape& shape) {
  const IndexMap old = map;
  const int lead = shape.ndim() - old.shape.ndim();
  map.shape = shape;
  for (int d = 0; d < shape.ndim(); ++d) {
    const int from = d - lead;
    const bool repeats = from < 0 || (old.shape[from] == 1 && shape[d] != 1);
    map.strides[d] = repeats ? 0 : old.strides[from];
  }
}

bool apply_view(IndexMap& map, OpId view, const Attrs& attrs, const Shape& shape) {
  switch (view_kind(view)) {
    case ViewKind::reshape: return reshape_map(map, shape);
    case ViewKind::permute: permute_map(map, attrs.v[0]); return true;
    case ViewKind::expand: broadcast_map(map, shape); return true;
    case ViewKind::slice: {
      const int axis = static_cast<int>(attrs.v[0]);
      slice_map(map, axis, attrs.v[1], shape[axis], static_cast<std::uint32_t>(attrs.v[2]));
      return true;
    }
  }
  return false;
}

namespace {

/// Axis of a dense `middle` along which a step of `stride` elements goes, and how many of its
/// positions; -1 where it goes along none.
int axis_of_stride(const IndexMap& middle, std::int64_t stride, std::int64_t& positions) {
  const std::int64_t size = stride < 0 ? -stride : stride;
  for (int d = 0; d < middle.shape.ndim(); ++d) {
    if (middle.shape[d] == 1 || size % middle.strides[d] != 0) continue;
    if (size / middle.strides[d] >= middle.shape[d]) continue;
    positions = stride / middle.strides[d];
    return d;
  }
  return -1;
}

}  // namespace

bool compose(const IndexMap& outer, const Shape& middle, const IndexMap& inner, IndexMap& result) {
  if (inner.is_contiguous()) {
    result = outer;
    result.offset += inner.offset;
    for (const OffsetTerm& term : inner.terms) add_term(result, term.slot, term.multiplier);
    return true;
  }
  // A start known only at run time can not be shown to stay within one axis.
  if (!outer.terms.empty() || outer.shape.numel() == 0) return false;
  const IndexMap dense = IndexMap::dense(middle);
  std::array<std::int64_t, max_rank> low{}, high{};
  result = inner;
  result.shape = outer.shape;
  result.strides = {};
  std::int64_t rest = outer.offset;
  for (int d = 0; d < middle.ndim(); ++d) {
    low[d] = high[d] = rest / dense.strides[d];
    rest %= dense.strides[d];
    result.offset += low[d] * inner.strides[d];
  }
  for (int d = 0; d < outer.shape.ndim(); ++d) {
    if (outer.strides[d] == 0 || outer.shape[d] == 1) continue;
    std::int64_t positions = 0;
    const int axis = axis_of_stride(dense, outer.strides[d], positions);
    if (axis < 0) return false;
    result.strides[d] = positions * inner.strides[axis];
    (positions < 0 ? low : high)[axis] += positions * (outer.shape[d] - 1);
  }
  for (int d = 0; d < middle.ndim(); ++d)
    if (low[d] < 0 || high[d] >= middle[d]) return false;
  return true;
}

}  // namespace weft::detail
