# The program `weft`. Its parser of command lines is looked for here alone.
if(WEFT_TOOLS STREQUAL "AUTO")
  find_package(CLI11 QUIET)
elseif(WEFT_TOOLS)
  find_package(CLI11 REQUIRED)
endif()
if(WEFT_TOOLS AND NOT TARGET CLI11::CLI11)
  message(STATUS "CLI11 was not found: the program weft is not built")
endif()
if(WEFT_TOOLS AND TARGET CLI11::CLI11)
  add_executable(weft_program tools/info.cpp)
  target_link_libraries(weft_program PRIVATE weft::weft CLI11::CLI11 weft_warnings)
  target_compile_definitions(weft_program PRIVATE "WEFT_VERSION=\"${PROJECT_VERSION}\"")
  set_target_properties(weft_program PROPERTIES OUTPUT_NAME weft
                        RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tools"
                        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS weft_program)
endif()
