# cmake --install: the program, and of a build without CUDA the library, its headers and the package
# for find_package(sfnn).
include(GNUInstallDirs)
install(TARGETS sfnn)
if(SFNN_CUDA)
  return()  # the device code's libraries are tied to this build: the program alone is installed
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sfnn)
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/sfnn)

target_include_directories(sfnn_host INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${header_dir}>)
target_compile_features(sfnn_host INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
set_target_properties(sfnn_host PROPERTIES EXPORT_NAME sfnn OUTPUT_NAME sfnn)
install(TARGETS sfnn_host EXPORT sfnn-targets)
install(EXPORT sfnn-targets NAMESPACE sfnn:: DESTINATION ${package_dir})

# <sfnn/sfnn.hpp> is the one to include; the others are there because it includes them.
install(FILES host/sfnn.hpp DESTINATION ${header_dir})
foreach(folder IN ITEMS backend data io model train)
  install(DIRECTORY host/${folder} DESTINATION ${header_dir}/host
    FILES_MATCHING PATTERN *.hpp PATTERN cpu EXCLUDE PATTERN plain EXCLUDE)
endforeach()
install(DIRECTORY kernels DESTINATION ${header_dir} FILES_MATCHING PATTERN *.hpp)

configure_package_config_file(cmake/sfnn-config.cmake.in ${PROJECT_BINARY_DIR}/sfnn-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sfnn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sfnn-config.cmake ${PROJECT_BINARY_DIR}/sfnn-config-version.cmake
  DESTINATION ${package_dir})
