# SPDX-License-Identifier: Apache-2.0

#[[
    lockyard_add_check(TARGET HEADER TYPE [SECONDS limit])

Adds the test TARGET, which checks the lock TYPE of HEADER in every execution that C++'s memory model
allows. The class is written with std::atomic, and knows nothing of lockyard. TARGET is also the
library that the lock is compiled into: give it what the header needs, as in

    target_include_directories(TARGET PRIVATE include)

The test fails if a client size cannot be searched within SECONDS; there is no limit without it.
]]
# Modules are compiled with this folder: in the installation, or in the source tree.
foreach(folder ../../lockyard ../virtual)
  if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/${folder}/plain/module.hpp)
    file(REAL_PATH ${CMAKE_CURRENT_LIST_DIR}/${folder} folder)
    set_property(GLOBAL PROPERTY LOCKYARD_MODULE_INCLUDE ${folder})
    break()
  endif()
endforeach()

function(lockyard_add_check target header type)
  cmake_parse_arguments(PARSE_ARGV 3 check "" "SECONDS" "")
  if(check_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "lockyard_add_check(${target}): `${check_UNPARSED_ARGUMENTS}` means nothing "
                        "here; after the type there may be SECONDS and a number")
  endif()
  get_filename_component(path ${header} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT EXISTS ${path})
    message(FATAL_ERROR "lockyard_add_check(${target}): there is no file ${path}, so there is nothing "
                        "to check; correct the path")
  endif()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}-module.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "@path@"
#include <plain/module.hpp>
using checked = @type@;
extern "C" {
constinit const lockyard::plain::entry lockyard_plain_entries[] = {
    lockyard::plain::entry_of_lock<checked>("@type@"),
    lockyard::plain::entry_of_readers<checked>("@type@.readers", "@type@")};
constinit const std::size_t lockyard_plain_entry_count = 2;
}
]])
  get_property(include GLOBAL PROPERTY LOCKYARD_MODULE_INCLUDE)
  add_library(${target} MODULE ${source})
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_include_directories(${target} BEFORE PRIVATE ${include} ${include}/plain/std)
  # As `lockyard check --lock` does it: docs/checking.md.
  target_compile_options(${target} PRIVATE -O1 -gdwarf-4 -fsanitize=thread -U__SANITIZE_THREAD__ -UNDEBUG
                         -fno-omit-frame-pointer -fno-gnu-unique -Wno-tsan
                         @${include}/plain/visible.txt -fno-elide-constructors)
  target_link_options(${target} PRIVATE -Wl,-z,now -Wl,-Bsymbolic -Wl,@${include}/plain/wrapped.txt)
  add_test(NAME ${target}
           COMMAND lockyard::check-module $<TARGET_FILE:${target}> ${check_SECONDS})
endfunction()
