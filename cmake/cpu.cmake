# The CPU backend: weft_cpu carries steps out, weft_kernels_<level> are the inner loops, the same
# sources once per instruction-set level. The runtime chooses among levels when it starts.
file(GLOB_RECURSE cpu_sources CONFIGURE_DEPENDS "runtime/src/cpu/*.cpp")
file(GLOB_RECURSE kernel_sources CONFIGURE_DEPENDS "runtime/src/cpu/kernels/*.cpp")
# In float products, but for strict ones, a factor's product and the sum that it goes into are one fma
# where the level has that.
set_source_files_properties(runtime/src/cpu/kernels/gemm.cpp runtime/src/cpu/kernels/gemv.cpp
                            PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
list(REMOVE_ITEM cpu_sources ${kernel_sources})

add_library(weft_cpu OBJECT ${cpu_sources} ${weft_empty_source})
target_include_directories(weft_cpu PRIVATE runtime/src)
target_compile_options(weft_cpu PRIVATE -O3)
target_link_libraries(weft_cpu PRIVATE weft_runtime Threads::Threads weft_warnings)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(levels v2 v3 v4)
  if(WEFT_SANITIZE)
    set(levels v2 v3) # a third copy of the same source would be compiled for nothing new
  endif()
else()
  set(levels base)
endif()

set(weft_kernel_levels)
set(level_list)
foreach(level ${levels})
  set(kernels weft_kernels_${level})
  add_library(${kernels} OBJECT ${kernel_sources} ${weft_empty_source})
  target_include_directories(${kernels} PRIVATE runtime/src codegen/kernels)
  target_compile_definitions(${kernels} PRIVATE WEFT_ISA=${level})
  # -O3 comes after the build type's own level, so debug and sanitizer builds have fast kernels too.
  target_compile_options(${kernels} PRIVATE -O3 -fno-math-errno -fno-trapping-math
    -fno-exceptions -fno-rtti -fno-threadsafe-statics)
  if(NOT level STREQUAL "base")
    target_compile_options(${kernels} PRIVATE -march=x86-64-${level})
  endif()
  if("undefined" IN_LIST WEFT_SANITIZE)
    target_compile_options(${kernels} PRIVATE -fno-sanitize=vptr) # needs run-time type information
  endif()
  target_link_libraries(${kernels} PRIVATE weft_runtime)
  list(APPEND weft_kernel_levels kernels_${level})
  string(APPEND level_list "WEFT_LEVEL(${level})")
endforeach()

# An X-macro: a source defines WEFT_LEVEL(level) and expands WEFT_KERNEL_LEVELS.
foreach(user weft_runtime weft_cpu)
  target_compile_definitions(${user} PRIVATE "WEFT_KERNEL_LEVELS=${level_list}")
endforeach()
