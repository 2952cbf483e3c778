// SPDX-License-Identifier: Apache-2.0

// The parts of std::list, std::map and std::set that are in the C++ library and not in its headers,
// for a module's code. A change of a tree writes every node of it: C++ forbids any other use of the
// container meanwhile, whatever nodes an implementation changes ([res.on.data.races]).

#include "wrapped.hpp"

#include <initializer_list>
#include <list>
#include <map>

namespace lockyard::plain {

namespace {

using list_node = std::__detail::_List_node_base;
using tree_node = std::_Rb_tree_node_base;

void write_links(std::initializer_list<const list_node*> links, const void* pc) {
  for (const list_node* each : links) write_bytes(each, sizeof *each, pc);
}

void write_tree(const tree_node* root, const void* pc) {
  if (root == nullptr) return;
  write_bytes(root, sizeof *root, pc);
  write_tree(root->_M_left, pc);
  write_tree(root->_M_right, pc);
}

/// Reads what the way from a node to its neighbour reads, downwards or upwards.
void read_way(const tree_node* from, tree_node* tree_node::*towards, tree_node* tree_node::*back,
              const void* pc) {
  const auto read = [pc](const tree_node* which) { read_bytes(which, sizeof *which, pc); };
  read(from);
  if (from->*towards != nullptr) {
    for (const tree_node* at = from->*towards; at != nullptr; at = at->*back) read(at);
    return;
  }
  const tree_node* child = from;
  const tree_node* above = child->_M_parent;
  for (read(above); child == above->*towards; read(above)) {
    child = above;
    above = above->_M_parent;
  }
}

}  // namespace

}  // namespace lockyard::plain

// NOLINTBEGIN(bugprone-reserved-identifier): the names are the linker's.

extern "C" {

using lockyard::plain::list_node;
using lockyard::plain::read_way;
using lockyard::plain::tree_node;
using lockyard::plain::write_bytes;
using lockyard::plain::write_links;
using lockyard::plain::write_tree;

void __wrap__ZNSt8__detail15_List_node_base7_M_hookEPS0_(list_node* self, list_node* before) {
  write_links({self, before, before->_M_prev}, LOCKYARD_PC);
  self->_M_hook(before);
}
void __wrap__ZNSt8__detail15_List_node_base9_M_unhookEv(list_node* self) {
  write_links({self, self->_M_next, self->_M_prev}, LOCKYARD_PC);
  self->_M_unhook();
}
void __wrap__ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(list_node* self, list_node* first,
                                                                 list_node* last) {
  write_links({self, self->_M_prev, first, first->_M_prev, last, last->_M_prev}, LOCKYARD_PC);
  self->_M_transfer(first, last);
}
void __wrap__ZNSt8__detail15_List_node_base10_M_reverseEv(list_node* self) {
  const list_node* each = self;
  do {
    write_links({each}, LOCKYARD_PC);
    each = each->_M_next;
  } while (each != self);
  self->_M_reverse();
}
void __wrap__ZNSt8__detail15_List_node_base4swapERS0_S1_(list_node& a, list_node& b) {
  write_links({&a, a._M_next, a._M_prev, &b, b._M_next, b._M_prev}, LOCKYARD_PC);
  list_node::swap(a, b);
}

void __wrap__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool is_left,
                                                                              tree_node* added,
                                                                              tree_node* parent,
                                                                              tree_node& header) {
  write_bytes(&header, sizeof header, LOCKYARD_PC);
  write_bytes(added, sizeof *added, LOCKYARD_PC);
  write_tree(header._M_parent, LOCKYARD_PC);
  std::_Rb_tree_insert_and_rebalance(is_left, added, parent, header);
}
tree_node* __wrap__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(tree_node* gone,
                                                                               tree_node& header) {
  write_bytes(&header, sizeof header, LOCKYARD_PC);
  write_tree(header._M_parent, LOCKYARD_PC);
  return std::_Rb_tree_rebalance_for_erase(gone, header);
}
#define LOCKYARD_STEP(name, towards, back, step)                         \
  const tree_node* __wrap__ZSt18_Rb_tree_##name(const tree_node* from) { \
    read_way(from, &tree_node::towards, &tree_node::back, LOCKYARD_PC);  \
    return std::step(from);                                              \
  }
LOCKYARD_STEP(incrementPSt18_Rb_tree_node_base, _M_right, _M_left, _Rb_tree_increment)
LOCKYARD_STEP(incrementPKSt18_Rb_tree_node_base, _M_right, _M_left, _Rb_tree_increment)
LOCKYARD_STEP(decrementPSt18_Rb_tree_node_base, _M_left, _M_right, _Rb_tree_decrement)
LOCKYARD_STEP(decrementPKSt18_Rb_tree_node_base, _M_left, _M_right, _Rb_tree_decrement)
}
// NOLINTEND(bugprone-reserved-identifier)
