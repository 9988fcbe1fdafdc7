// Plans: what would run, known before it runs, as a table, as the program of a fused kernel, and as
// a picture. Writes graph.dot and plan.dot; `dot -Tsvg plan.dot -o plan.svg` draws them.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

/// A block of a network: product, bias, activation, and a normalisation over its rows.
Tensor block(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor hidden;
  {
    const Scope name("dense");
    hidden = relu(matmul(x, weight) + bias);
  }
  const Scope name("normalise");
  const Tensor mean_of_row = mean(hidden, 1, keepdim);
  const Tensor centred = hidden - mean_of_row;
  return centred / sqrt(mean(square(centred), 1, keepdim) + 1e-5);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

void read_a_plan(const Plan& plan) {
  std::cout << "-- the steps\n" << plan;
  const std::vector<Step> steps = plan.steps();
  const auto fused = std::max_element(steps.begin(), steps.end(), [](const Step& a, const Step& b) {
    return (a.kind == StepKind::kernel) * a.what.size() <
           (b.kind == StepKind::kernel) * b.what.size();
  });
  std::cout << "-- the program of step " << fused->index << ", which fuses: " << fused->what << '\n'
            << plan.source(fused->index);
  expect(plan.count(StepKind::library) == 1, "the product is one library call");
  expect(plan.count(StepKind::transfer) == 0, "nothing moves");
  expect(fused->what.find(' ') != std::string::npos, "point-wise neighbours are fused");
  expect(plan.peak_bytes() >= 64 * 32 * sizeof(float), "the peak holds the result at least");
}

void draw(const Plan& plan, const Graph& graph) {
  std::cout << "-- pictures\n";
  std::ostringstream text;
  write_dot(text, plan);
  std::ofstream("plan.dot") << text.str();
  std::ofstream graph_file("graph.dot");
  write_dot(graph_file, graph);
  expect(graph_file.good(), "graph.dot is written");
  std::cout << "plan.dot: " << text.str().size() << " bytes, graph.dot: " << graph_file.tellp()
            << " bytes\n";
  expect(occurrences(text.str(), "digraph") == 1, "a plan is one digraph");
  expect(text.str().find("normalise") != std::string::npos, "scopes are named in it");
  expect(text.str().find("style=bold") == std::string::npos, "no transfer on one device");
}

/// The same block where the product runs elsewhere: two transfers in, one out, as bold edges.
void draw_transfers(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  sim::enable(1);
  Tensor product;
  {
    const On there("sim:0");
    product = matmul(x, weight);
  }
  const Tensor result = relu(product.cpu() + bias);
  const Plan plan = make_plan({result});
  std::ostringstream text;
  write_dot(text, plan);
  std::ofstream("transfers.dot") << text.str();
  std::cout << plan;
  expect(plan.count(StepKind::transfer) == 3, "two in, one out");
  expect(occurrences(text.str(), "style=bold") == 3, "a bold edge for each transfer");
  expect(occurrences(text.str(), "8192 bytes") > 0, "with its bytes");
}

}  // namespace

int main() {
  manual_seed(3);
  const Tensor x = rand({64, 48}), weight = rand({48, 32}), bias = rand({32});
  eval(x, weight, bias);
  const Tensor y = block(x, weight, bias);
  const Graph graph = capture({y});
  std::cout << "captured " << graph.size() << " values\n";
  expect(graph.verify().empty(), "a captured graph keeps its invariants");
  const Plan plan = make_plan({y});
  expect(y.is_pending(), "planning runs nothing");
  read_a_plan(plan);
  draw(plan, graph);
  plan.run();
  expect(!y.is_pending(), "running a plan evaluates its roots");
  expect(allclose(sum(square(y), 1), full({64}, 32.0), 1e-3), "rows are normalised");
  draw_transfers(x, weight, bias);
  return outcome();
}
