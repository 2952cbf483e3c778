// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT assertion. Functions with the attribute destructor run after the calls that
// atexit() has asked for.
#include <assert.h>
#include <stdlib.h>
static int has_run;
static void note(void) {
  has_run = 1;
}
__attribute__((destructor)) static void check(void) {
  assert(has_run == 1);
}
int main(void) {
#ifndef FAULT
  atexit(&note);
#endif
}
