// Kernels of point-wise groups: index maps of all kinds, vectors, tiles, texts.
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>

#include <weft/graph/detail/passes.h>

#include "codegen/fused_trials.h"
#include "support/compile_all.h"

using namespace weft;
using namespace weft::testing;

namespace {

using Extents = std::vector<std::int64_t>;

Shape shape_of(const Extents& extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.push_back(extent);
  return shape;
}

double number(DType dtype, std::mt19937& bits) {
  const double x = static_cast<double>(bits() % 2001) / 8 - 125;
  if (dtype == bool_) return static_cast<double>(bits() % 2);
  if (dtype == u8) return std::abs(x);
  return x;
}

/// How an operand may be read along an axis.
struct Axis {
  std::int64_t step;  // 0: broadcast
  std::int64_t start, room;
};

/// A view of these extents over an array of its own: axes broadcast, cut, turned round, permuted.
ResolvedOperand random_view(FusedTrial& trial, DType dtype, const Extents& extents, int variety,
                            std::mt19937& bits) {
  const std::size_t rank = extents.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (variety >= 2) std::shuffle(order.begin(), order.end(), bits);
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t steps[] = {1, 1, 1, 2, -1, -3};
    const std::int64_t step = variety == 0      ? 1
                              : bits() % 4 == 0 ? 0
                              : variety < 3     ? 1
                                                : steps[bits() % 6];
    const std::int64_t slack = variety >= 3 ? static_cast<std::int64_t>(bits() % 3) : 0;
    const std::int64_t reach = std::abs(step) * std::max<std::int64_t>(extents[d] - 1, 0);
    axes.push_back({step, (step < 0 ? reach : 0) + slack, reach + 1 + slack});
  }
  Extents room(rank), strides(rank);
  std::int64_t stride = 1, offset = 0;
  for (std::size_t i = rank; i-- > 0;) {
    const Axis& axis = axes[order[i]];
    strides[order[i]] = axis.step * stride;
    offset += axis.start * stride;
    stride *= axis.room;
    room[i] = axis.room;
  }
  trial.arrays.push_back(std::make_shared<Array>(
      dtype, shape_of(room), [&](std::int64_t) { return number(dtype, bits); }));
  return trial.arrays.back()->view(shape_of(extents), strides, offset);
}

/// (x0 * argument + x1, x2 < x0), the argument being 2.5, or 3 where there are no fractions.
std::shared_ptr<const Program> scale_and_compare(DType dtype) {
  Body body;
  const auto x0 = body.input(dtype), x1 = body.input(dtype), x2 = body.input(dtype);
  const auto argument = body.argument(dtype, 1);
  const bool is_truth = dtype == bool_;
  const auto product = body.add(OpId::mul, dtype, {x0, argument});
  body.output(body.add(is_truth ? OpId::bitwise_or : OpId::add, dtype, {product, x1}));
  body.output(body.add(OpId::lt, bool_, {x2, x0}));
  return body.program();
}

FusedTrial scale_trial(DType dtype, const Extents& extents, int variety, unsigned seed) {
  std::mt19937 bits(seed);
  FusedTrial trial;
  trial.what = std::string(name_of(dtype)) + " variety " + std::to_string(variety) + " seed " +
               std::to_string(seed);
  trial.program = scale_and_compare(dtype);
  trial.arguments = {0, is_floating(dtype) ? std::bit_cast<std::uint64_t>(2.5) : 3u};
  for (int k = 0; k < 3; ++k) {
    trial.inputs.push_back(random_view(trial, dtype, extents, variety, bits));
    trial.what += " (";
    for (std::size_t d = 0; d < extents.size(); ++d)
      trial.what +=
          std::to_string(extents[d]) + ":" + std::to_string(trial.inputs.back().strides[d]) + " ";
    trial.what += ")";
  }
  trial.outputs(shape_of(extents));
  return trial;
}

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(WEFT_TESTS_DIR) / "codegen" / "golden" / (name + ".cu");
}

void expect_golden(const std::string& name, const KernelSequence& sequence) {
  REQUIRE(sequence.launches.size() == 1);
  // The kernel itself: what it takes from the device library is the library's own affair.
  std::string text = sequence.launches[0].source->text;
  text.erase(0, text.find("struct Params"));
  if (std::getenv("WEFT_UPDATE_GOLDEN")) std::ofstream(golden(name)) << text;
  std::ostringstream want;
  want << std::ifstream(golden(name)).rdbuf();
  INFO(name << ": WEFT_UPDATE_GOLDEN=1 writes it anew");
  REQUIRE(text == want.str());
}

KernelStep step_of(const std::shared_ptr<const Program>& program, std::vector<KernelOperand> inputs,
                   const Extents& extents) {
  KernelStep step;
  step.op = fused_op();
  step.program = program.get();
  step.inputs = std::move(inputs);
  for (const ProgramOutput& output : program->outputs) {
    Extents strides(extents.size());
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0; stride *= extents[d]) strides[d] = stride;
    step.outputs.push_back(operand_like(output.dtype, extents, strides));
  }
  return step;
}

/// relu(x0 * x1 + x2)
std::shared_ptr<const Program> affine(DType dtype) {
  Body body;
  const auto x = body.input(dtype), y = body.input(dtype), z = body.input(dtype);
  const auto sum = body.add(OpId::add, dtype, {body.add(OpId::mul, dtype, {x, y}), z});
  body.output(body.add(OpId::relu, dtype, {sum}));
  return body.program();
}

/// The texts of a group over [rows, columns] with a row of its own: x, one for a row, one for all.
std::string affine_text(std::int64_t rows, std::int64_t columns) {
  const auto program = affine(f32);
  const Extents extents = {rows, columns};
  const KernelStep step =
      step_of(program,
              {operand_like(f32, extents, {columns, 1}), operand_like(f32, extents, {1, 0}),
               operand_like(f32, extents, {0, 1})},
              extents);
  return emit_fused(step, {}).launches.at(0).source->text;
}

}  // namespace

TEST_CASE("emit fused: golden texts") {
  SECTION("contiguous") {
    const auto program = scale_and_compare(f32);
    expect_golden("fused_contiguous", emit_fused(step_of(program,
                                                         {operand_like(f32, {1000}, {1}),
                                                          operand_like(f32, {1000}, {1}),
                                                          operand_like(f32, {1000}, {0}, 4)},
                                                         {1000}),
                                                 {}));
  }
  SECTION("broadcast over rows and columns") {
    const auto program = affine(bf16);
    KernelStep step = step_of(program,
                              {operand_like(bf16, {3, 5, 64}, {320, 64, 1}),
                               operand_like(bf16, {3, 5, 64}, {0, 0, 1}, 8),
                               operand_like(bf16, {3, 5, 64}, {1, 3, 0}, 2)},
                              {3, 5, 64});
    step.guards_state = true;
    expect_golden("fused_broadcast", emit_fused(step, {}));
  }
  SECTION("transposed") {
    const auto program = affine(f16);
    expect_golden("fused_transposed",
                  emit_fused(step_of(program,
                                     {operand_like(f16, {4, 100, 200}, {20000, 1, 100}),
                                      operand_like(f16, {4, 100, 200}, {20000, 200, 1}),
                                      operand_like(f16, {4, 100, 200}, {0, 1, 0})},
                                     {4, 100, 200}),
                             {}));
  }
}

TEST_CASE("emit fused: the same text for other extents and arguments") {
  REQUIRE(affine_text(64, 1024) == affine_text(96, 1024));
  REQUIRE(affine_text(64, 1024) == affine_text(7, 12));
  REQUIRE(affine_text(64, 1024) != affine_text(64, 1022));  // no whole vectors
  FusedTrial small = scale_trial(f32, {1024}, 0, 1), large = scale_trial(f32, {4096}, 0, 2);
  large.arguments[1] = std::bit_cast<std::uint64_t>(-1.0);
  small.emit({});
  large.emit({});
  REQUIRE(small.sequence.launches[0].source->text == large.sequence.launches[0].source->text);
  REQUIRE(small.sequence.launches[0].params != large.sequence.launches[0].params);
}

TEST_CASE("emit fused: values by hand") {
  FusedTrial trial = scale_trial(f32, {6, 7, 20}, 3, 11);
  trial.emit({});
  trial.run();
  for (std::int64_t i = 0; i < 840; ++i) {
    const auto x0 = static_cast<float>(read(trial.inputs[0], i));
    const auto x1 = static_cast<float>(read(trial.inputs[1], i));
    const auto x2 = static_cast<float>(read(trial.inputs[2], i));
    const float product = x0 * 2.5f;
    REQUIRE((*trial.got[0])[i] == product + x1);
    REQUIRE((*trial.got[1])[i] == (x2 < x0 ? 1 : 0));
  }
}

TEST_CASE("emit fused: every dtype, contiguous and not") {
  std::vector<FusedTrial> trials;
  unsigned seed = 100;
  for (const DType dtype : weft::testing::all_dtypes)
    for (const std::int64_t n : {1, 5, 1024, 4099})
      trials.push_back(scale_trial(dtype, {n}, 0, ++seed));
  for (const DType dtype : weft::testing::all_dtypes) {
    trials.push_back(scale_trial(dtype, {13, 64}, 1, ++seed));
    trials.push_back(scale_trial(dtype, {37, 70}, 2, ++seed));
    trials.push_back(scale_trial(dtype, {3, 33, 50}, 3, ++seed));
  }
  expect_bits_of_cpu(trials);
}

TEST_CASE("emit fused: random index maps") {
  const std::int64_t choices[] = {1, 2, 3, 4, 7, 8, 16, 17, 31, 32, 33, 61, 64, 97};
  std::mt19937 bits(7);
  std::vector<FusedTrial> trials;
  for (unsigned seed = 0; seed < 90; ++seed) {
    Extents extents(bits() % 6);
    std::int64_t numel = 1;
    for (std::int64_t& extent : extents) {
      extent = choices[bits() % std::size(choices)];
      while (numel * extent > 20000) extent = (extent + 1) / 2;
      numel *= extent;
    }
    const DType dtype = weft::testing::all_dtypes[bits() % dtype_count];
    trials.push_back(scale_trial(dtype, extents, static_cast<int>(seed % 4), 1000 + seed));
  }
  expect_bits_of_cpu(trials);
}

TEST_CASE("emit fused: rows and tiles of all sizes") {
  std::vector<FusedTrial> trials;
  unsigned seed = 300;
  for (const std::int64_t columns : {16, 31, 32, 33, 1024, 1025, 5000})
    for (int variety = 1; variety < 4; ++variety)
      trials.push_back(scale_trial(f32, {17, columns}, variety, ++seed));
  // Transposed: both by the first input alone and with others that stand along the rows.
  for (const DType dtype : {f16, f32, f64, u8}) {
    FusedTrial trial = scale_trial(dtype, {2, 45, 70}, 0, ++seed);
    trial.inputs[1] = trial.arrays[1]->view({2, 45, 70}, {3150, 1, 45});
    trials.push_back(trial);
    trial = scale_trial(dtype, {2, 45, 70}, 0, ++seed);
    trial.inputs[0] = trial.arrays[0]->view({2, 45, 70}, {1, 2, 90});
    trial.inputs[1] = trial.arrays[1]->view({2, 45, 70}, {0, -1, 45}, 44);
    trial.inputs[2] = trial.arrays[2]->view({2, 45, 70}, {0, 1, 0});
    trials.push_back(trial);
  }
  expect_bits_of_cpu(trials);
}

TEST_CASE("emit fused: nothing for no elements, nothing after a failure") {
  FusedTrial empty = scale_trial(f32, {3, 0, 2}, 0, 1);
  empty.emit({});
  REQUIRE(empty.sequence.launches.empty());
  FusedTrial guarded = scale_trial(f32, {100}, 0, 1);
  guarded.guards_state = true;
  guarded.emit({});
  guarded.got[0]->set(5, -77);
  ErrorBlock failed;
  failed.step = 1;
  guarded.run(failed);
  REQUIRE((*guarded.got[0])[5] == -77);
  guarded.run();
  REQUIRE((*guarded.got[0])[5] != -77);
}

TEST_CASE("emit fused: more operands than a kernel takes") {
  const auto sum_of = [](std::size_t inputs) {
    Body body;
    std::vector<std::uint32_t> x;
    for (std::size_t k = 0; k < inputs; ++k) x.push_back(body.input(f32));
    std::uint32_t sum = x[0];
    for (std::size_t k = 1; k < inputs; ++k) sum = body.add(OpId::add, f32, {sum, x[k]});
    body.output(sum);
    return body.program();
  };
  std::size_t most = 30;
  while (fits_parameters(most + 2, 0)) ++most;
  const Extents extents = {2, 2, 2, 2, 2, 2, 2, 2};
  // Strides that join no two axes.
  const KernelOperand operand = operand_like(f32, extents, {1, 3, 9, 27, 81, 243, 729, 2187}, 4);
  const auto fits = sum_of(most), exceeds = sum_of(most + 1);
  const KernelSequence sequence =
      emit_fused(step_of(fits, std::vector<KernelOperand>(most, operand), extents), {});
  REQUIRE(sequence.launches.at(0).params.size() <= 512);
  REQUIRE_THROWS_AS(
      emit_fused(step_of(exceeds, std::vector<KernelOperand>(most + 1, operand), extents), {}),
      InternalError);
}

TEST_CASE("emit fused: the greatest group that a plan makes fits into a kernel's parameters") {
  const detail::PlanOptions options;
  CHECK(fits_parameters(options.most_group_inputs + options.most_group_outputs,
                        options.most_group_arguments));
}

TEST_CASE("emit copy: any dtype, any view, the same bits") {
  std::mt19937 bits(3);
  std::vector<KernelSequence> sequences;
  struct Copy {
    FusedTrial trial;
    ResolvedOperand source;
  };
  std::vector<Copy> copies;
  for (const DType dtype : weft::testing::all_dtypes)
    for (const Extents& extents : {Extents{}, Extents{1000}, Extents{5, 40, 33}}) {
      Copy copy;
      copy.source = random_view(copy.trial, dtype, extents, 3, bits);
      for (std::int64_t i = 0; i < copy.trial.arrays[0]->numel() && dtype != bool_; ++i) {
        char* const element = copy.trial.arrays[0]->at(i);
        for (std::size_t b = 0; b < size_of(dtype); ++b) element[b] = static_cast<char>(bits());
        if (!is_floating(dtype) || i % 2) continue;
        element[size_of(dtype) - 1] |= 0x7f;  // a NaN with contents
        element[size_of(dtype) - 2] |= '\xf0';
      }
      copy.trial.output(dtype, {shape_of(extents).numel()});
      KernelStep step;
      step.op = copy_op();
      step.inputs = {operand_of(copy.source)};
      step.outputs = {operand_of(copy.trial.got[0]->dense())};
      copy.trial.sequence = emit_copy(step, {});
      copy.trial.inputs = {copy.source};
      sequences.push_back(copy.trial.sequence);
      copies.push_back(std::move(copy));
    }
  compile_for_host(sequences);
  for (Copy& copy : copies) {
    copy.trial.run();
    const Array& got = *copy.trial.got[0];
    for (std::int64_t i = 0; i < got.numel(); ++i) {
      std::int64_t rest = i, offset = 0;
      for (int d = copy.source.rank - 1; d >= 0; --d) {
        offset += rest % copy.source.shape[d] * copy.source.strides[d];
        rest /= copy.source.shape[d];
      }
      const auto size = static_cast<std::int64_t>(size_of(got.dtype));
      REQUIRE(std::memcmp(got.at(i),
                          reinterpret_cast<const char*>(copy.source.data) + offset * size,
                          static_cast<std::size_t>(size)) == 0);
    }
  }
}

TEST_CASE("emit fused: NVRTC takes the texts") {
  std::vector<detail::KernelSource> sources;
  unsigned seed = 500;
  for (const DType dtype : {f16, f32, i64, u8})
    for (const Extents& extents : {Extents{1000}, Extents{40, 70, 33}})
      for (const std::int64_t span : {std::int64_t{1}, std::int64_t{1} << 31}) {
        FusedTrial trial = scale_trial(dtype, extents, extents.size() == 1 ? 0 : 3, ++seed);
        GpuFacts gpu;
        gpu.narrow_span = span;
        trial.emit(gpu);
        sources.push_back(*trial.sequence.launches[0].source);
      }
  FusedTrial turned = scale_trial(f32, {45, 70}, 0, ++seed);
  turned.inputs[1] = turned.arrays[1]->view({45, 70}, {1, 45});
  turned.emit({});
  sources.push_back(*turned.sequence.launches[0].source);
  test::compile_all(sources);
}
