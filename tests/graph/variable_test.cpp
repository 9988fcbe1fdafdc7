// Variables: assignment, moves, gradients, and who keeps a slot alive.
#include <string>

#include <weft/graph/autograd.h>
#include <weft/graph/detail/node.h>
#include <weft/graph/detail/variable.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>
#include <weft/runtime/sim.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type: ") + error.what();
  }
  return "nothing was thrown";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("copies of a Variable share its slot") {
  Variable a = variable(tensor({1.0, 2.0}));
  Variable b = a;
  a = 7;
  CHECK(values(b) == Values{7, 7});
  const Variable c = variable(tensor({3.0, 4.0}));
  b = c;
  CHECK(values(a) == Values{7, 7});
  CHECK(values(b) == Values{3, 4});
  a.assign(c);
  CHECK(values(a) == Values{3, 4});
  a += 1;
  CHECK(values(a) == Values{4, 5});
  CHECK(values(c) == Values{3, 4});
  Variable moved = std::move(a);
  CHECK(values(moved) == Values{4, 5});
  CHECK_FALSE(Variable().defined());
}

TEST_CASE("a Variable's value is one node until the next assignment") {
  Variable v = variable(tensor({1.0}));
  const Tensor before = v, again = v.value();
  CHECK(before.ref() == again.ref());
  v.assign(v);
  CHECK(v.value().ref() == before.ref());
  v += 1;
  CHECK_FALSE(v.value().ref() == before.ref());
  CHECK(values(before) == Values{1});
  CHECK(values(v) == Values{2});
}

TEST_CASE("compound assignment") {
  Variable v = variable(tensor({6.0, 8.0}));
  v -= tensor({1.0, 2.0});
  v *= 2;
  v /= tensor({5.0, 4.0});
  CHECK(values(v) == Values{2, 3});
  CHECK(v.requires_grad());
  Variable half = variable(tensor({1.0}, {.dtype = f16}));
  half += tensor({0.5});
  CHECK(half.dtype() == f16);
  CHECK(values(half) == Values{1.5});
  Variable count = variable(tensor({1, 2}));
  count += 1;
  CHECK(count.to_vector<long>() == std::vector<long>{2, 3});
  CHECK(has(message_of<DTypeError>([&] { count /= 2; }), "operator/="));
  CHECK(has(message_of<ShapeError>([&] { v += ones({2, 2}); }), "f32[2,2]"));
  CHECK(values(v) == Values{2, 3});
}

TEST_CASE("assignment is checked") {
  Variable v = variable(zeros({2, 3}));
  std::string message = message_of<ShapeError>([&] { v.assign(ones({3})); });
  CHECK(has(message, "f32[2,3]"));
  CHECK(has(message, "f32[3]"));
  message = message_of<DTypeError>([&] { v = ones({2, 3}, {.dtype = f64}); });
  CHECK(has(message, "f32[2,3]"));
  CHECK(has(message, "f64[2,3]"));
  sim::enable(2);
  const Tensor there = ones({2, 3}, {.device = "sim:1"});
  message = message_of<DeviceError>([&] { v = there; });
  CHECK(has(message, "cpu"));
  CHECK(has(message, "sim:1"));
  CHECK_THROWS_AS(v.assign(Tensor()), ValueError);
  CHECK_THROWS_AS(Variable().assign(1), ValueError);
  CHECK_THROWS_AS(Variable().grad(), ValueError);
  CHECK_THROWS_AS(Variable().value(), ValueError);
  CHECK_THROWS_AS(variable(Tensor()), ValueError);
  CHECK(values(sum(v)) == Values{0});
  {
    const On elsewhere("sim:0");
    v = there;  // the annotation asks for the transfer
    v += 1;
  }
  CHECK(v.device() == Device::cpu());
  CHECK(values(sum(v)) == Values{12});
  int line = 0;
  try {
    line = __LINE__; v.assign(ones({3}));
  } catch (const Error& error) {
    CHECK(error.line() == line);
  }
}

TEST_CASE("a Variable moves and converts for all who hold it") {
  sim::enable(2);
  Variable v = variable(tensor({3.0}));
  const Variable same = v;
  sum(square(v)).backward();
  v.to("sim:0");
  CHECK(same.device() == Device("sim:0"));
  CHECK(same.grad().device() == Device("sim:0"));
  CHECK(values(same.grad()) == Values{6});
  v.to(f64);
  CHECK(same.dtype() == f64);
  CHECK(same.grad().dtype() == f64);
  v.cpu();
  CHECK(values(same) == Values{3});
  CHECK(same.requires_grad());
  v.to(i64);
  CHECK_FALSE(same.requires_grad());
  CHECK_FALSE(same.grad().defined());
}

TEST_CASE("gradients may be replaced") {
  Variable v = variable(tensor({1.0, 2.0}));
  v.set_grad(tensor({5.0, 6.0}));
  sum(v).backward();
  CHECK(values(v.grad()) == Values{6, 7});
  CHECK(has(message_of<ShapeError>([&] { v.set_grad(ones({3})); }), "f32[3]"));
  CHECK(has(message_of<DTypeError>([&] { v.set_grad(tensor({1, 2})); }), "i64[2]"));
  v.set_grad(Tensor());
  CHECK_FALSE(v.grad().defined());
  Variable count = variable(tensor({1, 2}));
  CHECK(has(message_of<DTypeError>([&] { count.set_requires_grad(true); }), "i64[2]"));
}

TEST_CASE("a graph outlives its Variables, and nothing is left of either") {
  detail::VariableSlot* slot = nullptr;
  Tensor loss;
  {
    Variable v = variable(tensor({2.0}));
    slot = v.slot();
    detail::add_slot_holder(slot);
    loss = sum(v * v);
    v += 1;
    CHECK(slot->version == 2);
    CHECK(slot->owners == 1);
  }
  CHECK_FALSE(slot->has_owner());
  CHECK_FALSE(slot->value.defined());
  loss.backward();
  CHECK_FALSE(slot->grad.defined());
  CHECK(values(loss) == Values{4});
  loss = Tensor();
  CHECK(slot->holders == 1);
  detail::drop_slot_holder(slot);
}

TEST_CASE("an assigned value leaves no history behind") {
  Variable v = variable(tensor({1.0}));
  for (int i = 0; i < 50; ++i) {
    v = v * 2 - v;  // recorded with gradients on
    eval(v);
    CHECK(v.value().ref().node->input_count == 0);
  }
  CHECK(values(v) == Values{1});
}

TEST_CASE("pending work that is read after an update is computed from the value before it") {
  Variable v = variable(tensor({1.0, -4.0}));
  for (int i = 0; i < 3; ++i) {
    const Values before = values(v);  // v's memory is filled: the update would overwrite it
    Tensor later;
    {
      const Tensor step = v * 2;  // nobody holds it: computed on the way, and again for `later`
      later = step + 1;
      const NoGrad off;
      v.assign(step + 10);
    }
    eval(v);
    CHECK(values(later) == Values{2 * before[0] + 1, 2 * before[1] + 1});
    CHECK(values(v) == Values{2 * before[0] + 10, 2 * before[1] + 10});
  }
}
