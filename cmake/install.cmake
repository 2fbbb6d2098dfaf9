# cmake --install: the program, the library as one archive, its public headers, and the package for find_package(sfnn)
# and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
install(TARGETS sfnn)

# Manual pages, by the program itself.
set(man_dir ${PROJECT_BINARY_DIR}/man)
add_custom_command(OUTPUT ${man_dir}/sfnn.1 COMMAND sfnn man --out ${man_dir} DEPENDS sfnn VERBATIM)
add_custom_target(man_pages ALL DEPENDS ${man_dir}/sfnn.1)
install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 OPTIONAL FILES_MATCHING PATTERN "*.1")

# Everything of ours in one archive, so that whoever links it needs to know nothing of its parts.
set(parts sfnn_backend sfnn_host)
set(needs fmt::fmt hwy::hwy PNG::PNG Threads::Threads tomlplusplus::tomlplusplus ZLIB::ZLIB)
set(pc_requires "fmt libhwy libpng tomlplusplus zlib")
set(pc_libs "-pthread")
if(SFNN_CUDA)
  list(APPEND parts sfnn_kernels sfnn_thrust sfnn_cuda)
  list(APPEND needs CUDA::cudart CUDA::cublas)
  string(APPEND pc_libs " -L${CUDAToolkit_LIBRARY_DIR} -lcublas -lcudart")
endif()
list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(sfnn_library STATIC ${objects})
target_include_directories(sfnn_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(sfnn_library INTERFACE cxx_std_20)
target_link_libraries(sfnn_library PRIVATE ${needs})
set_target_properties(sfnn_library PROPERTIES EXPORT_NAME sfnn OUTPUT_NAME sfnn LINKER_LANGUAGE CXX)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sfnn)
install(TARGETS sfnn_library EXPORT sfnn-targets)
install(EXPORT sfnn-targets NAMESPACE sfnn:: DESTINATION ${package_dir})
install(DIRECTORY host/public/sfnn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

configure_package_config_file(cmake/sfnn-config.cmake.in ${PROJECT_BINARY_DIR}/sfnn-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sfnn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sfnn-config.cmake ${PROJECT_BINARY_DIR}/sfnn-config-version.cmake
  DESTINATION ${package_dir})

# From where sfnn.pc lies to the prefix, which is chosen when one installs.
file(RELATIVE_PATH pc_to_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/sfnn.pc.in ${PROJECT_BINARY_DIR}/sfnn.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/sfnn.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
