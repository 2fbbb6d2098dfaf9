# cmake --install: the program, and of a build without CUDA the library, its headers and the package
# for find_package(sfnn).
include(GNUInstallDirs)
install(TARGETS sfnn)
if(SFNN_CUDA)  # the device code's libraries are tied to this build: the program alone is installed
  install(CODE "message(STATUS \"The library and its package are installed from the cpu build\")")
  return()
endif()

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sfnn)
set(header_dir ${CMAKE_INSTALL_INCLUDEDIR}/sfnn)

target_include_directories(sfnn_host INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}> $<INSTALL_INTERFACE:${header_dir}>)
target_compile_features(sfnn_host INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
set_target_properties(sfnn_host PROPERTIES EXPORT_NAME sfnn OUTPUT_NAME sfnn)
install(TARGETS sfnn_host sfnn_backend EXPORT sfnn-targets)
install(EXPORT sfnn-targets NAMESPACE sfnn:: DESTINATION ${package_dir})

# <sfnn/sfnn.hpp> is the one to include; the others are there because it includes them.
install(FILES host/sfnn.hpp DESTINATION ${header_dir})
foreach(header IN ITEMS
    host/backend/backend host/backend/device_info host/devices/registry host/base/error host/base/function_ref host/base/names
    host/data/bytes host/data/dataset host/run/checkpoint host/run/config host/formats/safetensors
    host/model/model host/model/network
    host/train/batch_gradient host/train/batches host/train/betas host/train/evaluate host/train/optimizer
    host/train/pass host/train/schedule host/train/staged_data
    host/train/train_options host/train/train_plan host/train/train_state host/train/trainer
    kernels/activations kernels/args kernels/backward_args kernels/data_args kernels/estimators kernels/forward_args
    kernels/hd kernels/output kernels/philox kernels/product_args kernels/tile kernels/tree_sum kernels/update_args
    kernels/views)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header}.hpp DESTINATION ${header_dir}/${folder})
endforeach()

configure_package_config_file(cmake/sfnn-config.cmake.in ${PROJECT_BINARY_DIR}/sfnn-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/sfnn-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/sfnn-config.cmake ${PROJECT_BINARY_DIR}/sfnn-config-version.cmake
  DESTINATION ${package_dir})
