# Flags of every target here; none of them reaches a consumer.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

# A contracted a*b+c would give other bits than the same expression unfused or on another machine.
add_compile_options(-ffp-contract=off)
# Nobody puts own functions in place of the library's, so calls among them may be inlined.
add_compile_options(-fno-semantic-interposition)

if(WEFT_SANITIZE)
  list(JOIN WEFT_SANITIZE "," sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()

add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Wimplicit-fallthrough)
if(WEFT_WERROR)
  target_compile_options(weft_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # These depend on the optimiser, and g++ 12 and 13 report them inside libstdc++ for correct code.
  target_compile_options(weft_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized
    -Wno-error=array-bounds -Wno-error=stringop-overflow -Wno-error=stringop-overread
    -Wno-error=free-nonheap-object -Wno-error=null-dereference)
endif()

# Lets a component without sources be a target.
set(weft_empty_source "${CMAKE_CURRENT_BINARY_DIR}/empty.cpp")
file(CONFIGURE OUTPUT "${weft_empty_source}" CONTENT "")
