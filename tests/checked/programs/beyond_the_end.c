// SPDX-License-Identifier: Apache-2.0
// passed; with FAULT lifetime. The last byte that a string needs lies behind its memory.
#include <stdlib.h>
#include <string.h>
int main(void) {
  const char* const text = "a text";
#ifdef FAULT
  char* const copy = malloc(strlen(text));
#else
  char* const copy = malloc(strlen(text) + 1);
#endif
  strcpy(copy, text);
  free(copy);
}
