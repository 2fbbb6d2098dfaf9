# cmake -D BUILD=... -D SOURCE=... -D WORK=... -D FLAGS=... -P test.cmake: installs the build into a
# folder of its own, builds the consumer against it alone, and runs both programs.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/installed)
file(GLOB programs RELATIVE ${WORK}/installed/bin ${WORK}/installed/bin/*)
if(NOT programs STREQUAL "sfnn")
  message(FATAL_ERROR "installed as programs: ${programs}")
endif()
run(${WORK}/installed/bin/sfnn --help)
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_BUILD_TYPE=Debug
  -DCMAKE_PREFIX_PATH=${WORK}/installed "-DCMAKE_CXX_FLAGS=${FLAGS} -Wall -Wextra -Werror")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -E chdir ${WORK} ${WORK}/build/consumer)
