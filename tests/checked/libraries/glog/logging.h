// SPDX-License-Identifier: Apache-2.0
#pragma once

// The claims that folly's locks make to glog, as claims that the checker checks.

#include <cassert>

class claim {
 public:
  explicit claim(bool holds) { assert(holds); }
  template <class Text>
  const claim& operator<<(const Text& /*said*/) const {
    return *this;
  }
};

#define DCHECK(holds) claim(static_cast<bool>(holds))
#define DCHECK_EQ(one, other) claim((one) == (other))
#define CHECK(holds) DCHECK(holds)
