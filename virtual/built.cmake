# SPDX-License-Identifier: Apache-2.0
# The checker and the simulator of another build tree of these sources (LOCKYARD_BUILT), as targets
# of this one: they take minutes to compile, and ./yard has compiled them for the command. The
# other tree is brought up to date first, so an edited source is compiled there.
find_package(nlohmann_json 3.11 REQUIRED)
set(built ${LOCKYARD_BUILT}/virtual)
set(archives lockyard-model lockyard-simulation lockyard-clients)
file(GLOB plain_sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} plain/*.cpp)
set(plain_objects ${plain_sources})
list(TRANSFORM plain_objects REPLACE "(.+)" "${built}/CMakeFiles/lockyard-plain.dir/\\1.o")
set(archive_files ${archives})
list(TRANSFORM archive_files REPLACE "(.+)" "${built}/lib\\1.a")
add_custom_target(built-virtual
  COMMAND ${CMAKE_COMMAND} --build ${LOCKYARD_BUILT} --parallel 2
    --target lockyard-plain ${archives}
  BYPRODUCTS ${archive_files} ${plain_objects}
  COMMENT "Bringing the checker and the simulator in ${LOCKYARD_BUILT} up to date")

foreach(name IN LISTS archives)
  add_library(${name} STATIC IMPORTED GLOBAL)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${built}/lib${name}.a)
  target_include_directories(${name} INTERFACE
    ${CMAKE_CURRENT_SOURCE_DIR} ${built}/include ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} INTERFACE lockyard::lockyard Boost::context Threads::Threads)
  add_dependencies(${name} built-virtual)
endforeach()
target_link_libraries(lockyard-model INTERFACE absl::flat_hash_map)
target_link_libraries(lockyard-clients INTERFACE lockyard-model)
target_link_libraries(lockyard-simulation INTERFACE
  nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
add_library(lockyard::model ALIAS lockyard-model)
add_library(lockyard::check ALIAS lockyard-model)

add_library(lockyard-plain OBJECT IMPORTED GLOBAL)
set_target_properties(lockyard-plain PROPERTIES IMPORTED_OBJECTS "${plain_objects}")
target_link_libraries(lockyard-plain INTERFACE lockyard-model ${CMAKE_DL_LIBS})
add_dependencies(lockyard-plain built-virtual)
