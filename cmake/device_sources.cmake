# Embeds codegen/kernels/*.cuh in weft_codegen.
set(device_folder "${CMAKE_CURRENT_SOURCE_DIR}/codegen/kernels")
set(device_sources_cpp "${CMAKE_CURRENT_BINARY_DIR}/device_sources.cpp")
file(GLOB device_sources CONFIGURE_DEPENDS "${device_folder}/*.cuh")
add_custom_command(OUTPUT "${device_sources_cpp}"
  COMMAND ${CMAKE_COMMAND} -D "output=${device_sources_cpp}" -D "folder=${device_folder}"
          -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake"
  DEPENDS ${device_sources} "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake"
  COMMENT "Embedding device sources" VERBATIM)
target_sources(weft_codegen PRIVATE "${device_sources_cpp}")
