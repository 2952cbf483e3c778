// SPDX-License-Identifier: Apache-2.0
#include "tbb.hpp"

struct client : adapters::writer_and_reader<tbb::spin_rw_mutex> {};
