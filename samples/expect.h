// What a sample claims, checked: a wrong claim is printed, and makes the program's exit status 1.
#pragma once

#include <iostream>

inline int failed_claims = 0;

inline void expect(bool holds, const char* claim) {
  if (holds) return;
  std::cerr << "WRONG: " << claim << '\n';
  ++failed_claims;
}

inline int outcome() { return failed_claims == 0 ? 0 : 1; }
