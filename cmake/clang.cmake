# SPDX-License-Identifier: Apache-2.0
# Clang 16, which Debian 12 has next to its older default; elsewhere the default.
find_program(CMAKE_CXX_COMPILER NAMES clang++-16 clang++ REQUIRED)
