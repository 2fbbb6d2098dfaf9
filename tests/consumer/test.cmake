# cmake -D BUILD=... -D SOURCE=... -D DOCS=... -D WORK=... -D COMPILER=... -D FLAGS=... -P test.cmake: installs the
# build into a folder of its own and uses it from there alone: each public header by itself, then a program that goes
# through all of them and the one that the docs show, both built by CMake and by pkg-config.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(prefix ${WORK}/installed)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# --- what is installed
file(GLOB_RECURSE files RELATIVE ${prefix} ${prefix}/*)
list(FILTER files EXCLUDE REGEX "^lib.*/cmake/sfnn/sfnn-(config|config-version|targets|targets-[a-z]+)\\.cmake$")
list(FILTER files EXCLUDE REGEX "^lib.*/(libsfnn\\.a|pkgconfig/sfnn\\.pc)$")
list(FILTER files EXCLUDE REGEX "^include/sfnn/[a-z]+\\.hpp$")
list(FILTER files EXCLUDE REGEX "^share/man/man1/sfnn-[a-z]+\\.1$")
if(NOT files STREQUAL "bin/sfnn;share/man/man1/sfnn.1")
  message(FATAL_ERROR "installed beside headers, archive, packages and the commands' pages: ${files}")
endif()
file(GLOB headers RELATIVE ${prefix}/include ${prefix}/include/sfnn/*.hpp)
file(GLOB public RELATIVE ${SOURCE}/../../host/public ${SOURCE}/../../host/public/sfnn/*.hpp)
if(NOT headers STREQUAL public OR NOT "sfnn/sfnn.hpp" IN_LIST headers)
  message(FATAL_ERROR "installed headers: ${headers}")
endif()
foreach(header IN LISTS headers)
  file(WRITE ${WORK}/alone.cpp "#include <${header}>\n#include <${header}>\n")
  run(${COMPILER} -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I${prefix}/include ${WORK}/alone.cpp)
endforeach()
run(${prefix}/bin/sfnn --help)

# --- the program in the docs: what stands between ```cpp and ```
file(READ ${DOCS}/library.md text)
string(FIND "${text}" "```cpp\n" begin)
string(SUBSTRING "${text}" ${begin} -1 text)
string(SUBSTRING "${text}" 7 -1 text)
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} text)
file(WRITE ${WORK}/example.cpp "${text}")

# --- by CMake
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DEXAMPLE=${WORK}/example.cpp
  -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix} "-DCMAKE_CXX_FLAGS=${FLAGS} -Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --build ${WORK}/build)

# --- by pkg-config
file(GLOB_RECURSE pc ${prefix}/*/sfnn.pc)
cmake_path(GET pc PARENT_PATH pc_folder)
set(ENV{PKG_CONFIG_PATH} ${pc_folder})
execute_process(COMMAND pkg-config --cflags --libs sfnn OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(found UNIX_COMMAND "${found}")
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
file(MAKE_DIRECTORY ${WORK}/by_hand)
run(${COMPILER} -std=c++20 ${flags} ${SOURCE}/main.cpp ${found} -o ${WORK}/by_hand/consumer)
run(${COMPILER} -std=c++20 ${flags} ${WORK}/example.cpp ${found} -o ${WORK}/by_hand/example)

foreach(program IN ITEMS build/consumer build/example by_hand/consumer by_hand/example)
  file(REMOVE_RECURSE ${WORK}/here)
  file(MAKE_DIRECTORY ${WORK}/here)
  run(${CMAKE_COMMAND} -E chdir ${WORK}/here ${WORK}/${program})
endforeach()
