# SPDX-License-Identifier: Apache-2.0
# The locks need nothing. The component `check` needs what the checker is built from.
include(${CMAKE_CURRENT_LIST_DIR}/lockyard-targets.cmake)

foreach(component IN LISTS lockyard_FIND_COMPONENTS)
  if(component STREQUAL check AND EXISTS ${CMAKE_CURRENT_LIST_DIR}/lockyard-check-targets.cmake)
    include(CMakeFindDependencyMacro)
    find_dependency(Boost 1.74 COMPONENTS context)
    find_dependency(absl)
    find_dependency(Threads)
    include(${CMAKE_CURRENT_LIST_DIR}/lockyard-check-targets.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/lockyard-check.cmake)
    set(lockyard_check_FOUND TRUE)
  elseif(lockyard_FIND_REQUIRED_${component})
    set(lockyard_FOUND FALSE)
    set(lockyard_NOT_FOUND_MESSAGE "this lockyard has no component ${component}, so its target \
cannot be linked: ask for `check` alone, of a lockyard built with LOCKYARD_BUILD_CHECK_LIBRARY=ON")
  endif()
endforeach()
