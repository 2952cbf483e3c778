# SPDX-License-Identifier: Apache-2.0
# Writes a CTest file with one test for each GoogleTest suite of a program: a process for each of
# many short cases takes longer than they do. Runs after the program was linked, with -DPROGRAM=...
# (and in front of it what runs it), -DTIMEOUT_S=... (of a case) and -DTESTS=... (the file to write).
cmake_minimum_required(VERSION 3.25)
set(SECONDS_PER_CASE 5)
execute_process(COMMAND ${PROGRAM} --gtest_list_tests
  OUTPUT_VARIABLE listed RESULT_VARIABLE status TIMEOUT 60)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} --gtest_list_tests failed (${status}), so its suites are unknown")
endif()

list(REMOVE_ITEM PROGRAM "")
set(content "")
# Lists the suite that was read last, if it has a case.
macro(end_suite)
  if(cases GREATER 0)
    math(EXPR timeout_s "${TIMEOUT_S} + ${SECONDS_PER_CASE} * ${cases}")
    string(APPEND content "add_test([==[${suite}]==]")
    foreach(word IN LISTS PROGRAM)
      string(APPEND content " [==[${word}]==]")
    endforeach()
    string(APPEND content " [==[--gtest_filter=${suite}.*]==])\n"
      "set_tests_properties([==[${suite}]==] PROPERTIES TIMEOUT ${timeout_s})\n")
  endif()
endmacro()

# A line of a suite: "name.", and what it is instantiated with. A line of a case is indented.
set(cases 0)
string(REGEX REPLACE "#[^\n]*" "" listed "${listed}")
string(REPLACE "\n" ";" listed "${listed}")
foreach(line IN LISTS listed)
  if(line MATCHES "^([^ ]+)[.] *$")
    end_suite()
    set(suite "${CMAKE_MATCH_1}")
    set(cases 0)
  elseif(line MATCHES "^  ")
    math(EXPR cases "${cases} + 1")
  endif()
endforeach()
end_suite()
if(content STREQUAL "")
  message(FATAL_ERROR "${PROGRAM} lists no case, so it tests nothing")
endif()
file(WRITE "${TESTS}" "${content}")
