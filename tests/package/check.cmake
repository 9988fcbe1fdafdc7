# Installs weft to an empty prefix, then configures, builds and runs the project beside this file
# against it.
file(REMOVE_RECURSE "${scratch}")
foreach(step
    "${CMAKE_COMMAND};--install;${weft_build};--config;${config};--prefix;${scratch}/prefix"
    "${CMAKE_COMMAND};-S;${CMAKE_CURRENT_LIST_DIR};-B;${scratch}/build;-G;${generator};-DCMAKE_CXX_COMPILER=${compiler};-DCMAKE_BUILD_TYPE=${config};-DCMAKE_PREFIX_PATH=${scratch}/prefix;-DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF"
    "${CMAKE_COMMAND};--build;${scratch}/build;--config;${config};--target;run")
  execute_process(COMMAND ${step} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endforeach()
