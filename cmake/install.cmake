include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/weft")
install(TARGETS weft EXPORT weftTargets FILE_SET graph FILE_SET codegen FILE_SET runtime)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/weftConfig.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/weftConfig.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/weftConfigVersion.cmake"
        DESTINATION "${package_dir}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
