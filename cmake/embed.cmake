# Writes the device sources into a C++ file as strings: cmake -D output=FILE -D folder=FOLDER
# -P embed.cmake. The table is in the order of the names.
file(GLOB sources "${folder}/*.cuh")
list(SORT sources)
set(text "#include \"device_sources.h\"\n\nnamespace weft::detail {\n\n")
string(APPEND text "const DeviceSource device_sources[] = {\n")
list(LENGTH sources count)
foreach(source ${sources})
  cmake_path(GET source STEM name)
  file(READ "${source}" content)
  string(APPEND text "    {\"${name}\", R\"cuh(${content})cuh\"},\n")
endforeach()
string(APPEND text "};\nconst std::size_t device_source_count = ${count};\n\n}  // namespace weft::detail\n")
file(WRITE "${output}" "${text}")
