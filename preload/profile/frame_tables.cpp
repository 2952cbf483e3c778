// SPDX-License-Identifier: Apache-2.0

// The format: DWARF 4, section 6.4, as changed by the Linux Standard Base, "Exception Frames".

#include "frame_tables.hpp"

#include <cstring>

namespace lockyard::preload::record {
namespace {

constexpr u32 pc_relative_int32 = 0x1b, header_relative_int32 = 0x3b, plain_uint32 = 0x03;
constexpr int most_remembered = 8;

class cursor {
 public:
  explicit cursor(const unsigned char* at) : at_{at} {}

  template <class T>
  T take() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  u64 unsigned_number() {
    u64 value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned byte = *at_++;
      if (shift < 64) value |= u64{byte & 0x7f} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }
  std::int64_t signed_number() {
    u64 value = 0;
    unsigned shift = 0, byte;
    do {
      byte = *at_++;
      if (shift < 64) value |= u64{byte & 0x7f} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~u64{0} << shift;
    return static_cast<std::int64_t>(value);
  }
  /// Returns an address that is stored relative to where it is stored.
  std::uintptr_t relative_address() {
    const auto base = reinterpret_cast<std::uintptr_t>(at_);
    return base + static_cast<std::uintptr_t>(std::int64_t{take<std::int32_t>()});
  }
  void skip(u64 bytes) { at_ += bytes; }
  const unsigned char* at() const { return at_; }

 private:
  const unsigned char* at_;
};

struct saved_at {
  bool is_saved = false;
  bool is_lost = false;  ///< undefined, or found by means that are not supported
  std::int64_t offset = 0;
};

struct row {
  u32 cfa_register = 0;
  std::int64_t cfa_offset = 0;
  bool has_cfa = false;
  saved_at frame, result;  ///< the frame pointer and the return address
};

struct common_entry {
  u64 code_factor = 1;
  std::int64_t data_factor = 1;
  bool has_augmentation = false;
  const unsigned char* program = nullptr;
  const unsigned char* end = nullptr;
};

bool read_common(const unsigned char* at, common_entry& to) {
  cursor in{at};
  const auto length = in.take<u32>();
  if (length == 0 || length == 0xffffffff) return false;
  to.end = in.at() + length;
  if (in.take<u32>() != 0) return false;
  const auto version = in.take<unsigned char>();
  const char* augmentation = reinterpret_cast<const char*>(in.at());
  in.skip(std::strlen(augmentation) + 1);
  to.code_factor = in.unsigned_number();
  to.data_factor = in.signed_number();
  const u64 returns_by = version == 1 ? in.take<unsigned char>() : in.unsigned_number();
  if (returns_by != return_register) return false;
  if (*augmentation == 'z') {
    to.has_augmentation = true;
    const u64 bytes = in.unsigned_number();
    cursor data = in;
    in.skip(bytes);
    while (*++augmentation != 0) {
      if (*augmentation == 'R' && data.take<unsigned char>() != pc_relative_int32) return false;
      if (*augmentation == 'L') data.skip(1);
      if (*augmentation == 'P') {
        const u32 encoding = data.take<unsigned char>() & 0x0f;
        data.skip(encoding == 0x03 || encoding == 0x0b ? 4 : 8);
      }
    }
  } else if (*augmentation != 0) {
    return false;
  }
  to.program = in.at();
  return true;
}

class interpreter {
 public:
  interpreter(const common_entry& common, row initial, u64 location)
      : common_{common}, initial_{initial}, now_{initial}, location_{location} {}

  /// Runs the instructions up to the row of `target`; false for one that is not supported.
  bool run(const unsigned char* from, const unsigned char* end, u64 target) {
    cursor in{from};
    while (in.at() < end && location_ <= target) {
      const unsigned op = in.take<unsigned char>();
      const unsigned low = op & 0x3f;
      switch (op & 0xc0) {
        case 0x40: location_ += low * common_.code_factor; break;
        case 0x80:
          save(low, static_cast<std::int64_t>(in.unsigned_number()) * common_.data_factor);
          break;
        case 0xc0: restore(low); break;
        default:
          if (!extended(op, in)) return false;
      }
      if (location_ <= target) reached_ = now_;
    }
    return true;
  }
  const row& reached() const { return reached_; }
  void begin() { reached_ = now_; }

 private:
  saved_at* of(u64 number) {
    if (number == frame_register) return &now_.frame;
    if (number == return_register) return &now_.result;
    return nullptr;
  }
  void save(u64 number, std::int64_t offset) {
    if (saved_at* const to = of(number)) *to = {true, false, offset};
  }
  void lose(u64 number) {
    if (saved_at* const to = of(number)) *to = {false, true, 0};
  }
  void restore(u64 number) {
    if (number == frame_register) now_.frame = initial_.frame;
    if (number == return_register) now_.result = initial_.result;
  }
  void define(u64 number, std::int64_t offset) {
    now_.cfa_register = static_cast<u32>(number);
    now_.cfa_offset = offset;
    now_.has_cfa = true;
  }
  bool extended(unsigned op, cursor& in) {
    switch (op) {
      case 0x00: return true;
      case 0x02: location_ += in.take<unsigned char>() * common_.code_factor; return true;
      case 0x03: location_ += in.take<u16>() * common_.code_factor; return true;
      case 0x04: location_ += in.take<u32>() * common_.code_factor; return true;
      case 0x05: {
        const u64 number = in.unsigned_number();
        save(number, static_cast<std::int64_t>(in.unsigned_number()) * common_.data_factor);
        return true;
      }
      case 0x06: restore(in.unsigned_number()); return true;
      case 0x07: lose(in.unsigned_number()); return true;
      case 0x08: restore(in.unsigned_number()); return true;
      case 0x09:
        lose(in.unsigned_number());
        in.unsigned_number();
        return true;
      case 0x0a:
        if (depth_ == most_remembered) return false;
        remembered_[depth_++] = now_;
        return true;
      case 0x0b:
        if (depth_ == 0) return false;
        now_ = remembered_[--depth_];
        return true;
      case 0x0c: {
        const u64 number = in.unsigned_number();
        define(number, static_cast<std::int64_t>(in.unsigned_number()));
        return true;
      }
      case 0x0d: define(in.unsigned_number(), now_.cfa_offset); return true;
      case 0x0e: now_.cfa_offset = static_cast<std::int64_t>(in.unsigned_number()); return true;
      case 0x0f:
        now_.has_cfa = false;
        in.skip(in.unsigned_number());
        return true;
      case 0x10:
      case 0x16:
        lose(in.unsigned_number());
        in.skip(in.unsigned_number());
        return true;
      case 0x11: {
        const u64 number = in.unsigned_number();
        save(number, in.signed_number() * common_.data_factor);
        return true;
      }
      case 0x12: {
        const u64 number = in.unsigned_number();
        define(number, in.signed_number() * common_.data_factor);
        return true;
      }
      case 0x13: now_.cfa_offset = in.signed_number() * common_.data_factor; return true;
      case 0x2d: return true;  // the return address is signed, which its reader takes off
      case 0x2e: in.unsigned_number(); return true;
      default: return false;
    }
  }

  const common_entry& common_;
  row initial_, now_, reached_{};
  u64 location_;
  row remembered_[most_remembered]{};
  int depth_ = 0;
};

/// Returns the description of the function at the address, or null.
const unsigned char* description_of(const unsigned char* hdr, std::uintptr_t address) {
  cursor in{hdr};
  if (in.take<unsigned char>() != 1) return nullptr;
  const u32 frame_encoding = in.take<unsigned char>();
  const u32 count_encoding = in.take<unsigned char>();
  const u32 table_encoding = in.take<unsigned char>();
  if (frame_encoding != pc_relative_int32 || count_encoding != plain_uint32 ||
      table_encoding != header_relative_int32) {
    return nullptr;
  }
  in.skip(4);
  const auto count = in.take<u32>();
  const unsigned char* const table = in.at();
  const auto wanted = static_cast<std::int64_t>(address - reinterpret_cast<std::uintptr_t>(hdr));
  u32 low = 0, high = count;
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    if (cursor{table + u64{middle} * 8}.take<std::int32_t>() <= wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return nullptr;
  return hdr + cursor{table + u64{low - 1} * 8 + 4}.take<std::int32_t>();
}

frame_rule packed(const row& from) {
  const bool by_frame = from.cfa_register == frame_register;
  const std::int64_t result = from.result.is_saved ? from.result.offset / 8 : 0;
  const std::int64_t frame = from.frame.is_saved ? from.frame.offset / 8 : 0;
  const bool fits = from.cfa_offset >= 0 && from.cfa_offset < (1 << 27) &&
                    result == static_cast<std::int16_t>(result) &&
                    frame == static_cast<std::int16_t>(frame);
  if (!from.has_cfa || !fits || (!by_frame && from.cfa_register != stack_register)) return {};
  return {true, by_frame, static_cast<std::int32_t>(from.cfa_offset),
          static_cast<std::int16_t>(result), static_cast<std::int16_t>(frame)};
}

}  // namespace

frame_rule rule_at(const void* eh_frame_hdr, std::uintptr_t address) {
  const auto* const found =
      description_of(static_cast<const unsigned char*>(eh_frame_hdr), address);
  if (found == nullptr) return {};
  cursor in{found};
  const auto length = in.take<u32>();
  if (length == 0 || length == 0xffffffff) return {};
  const unsigned char* const end = in.at() + length;
  const unsigned char* const back_from = in.at();
  common_entry common;
  if (!read_common(back_from - in.take<std::int32_t>(), common)) return {};
  const std::uintptr_t begin = in.relative_address();
  const u64 bytes = in.take<u32>();
  if (address < begin || address >= begin + bytes) return {};
  if (common.has_augmentation) in.skip(in.unsigned_number());
  interpreter of_common{common, {}, 0};
  of_common.begin();
  if (!of_common.run(common.program, common.end, 0)) return {};
  interpreter of_function{common, of_common.reached(), begin};
  of_function.begin();
  if (!of_function.run(in.at(), end, address)) return {};
  return packed(of_function.reached());
}

}  // namespace lockyard::preload::record
