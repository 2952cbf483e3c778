# SPDX-License-Identifier: Apache-2.0
"""Writes all generated schemas next to this file."""

from __future__ import annotations

from lockyard.schema import SOURCES, write

for each in SOURCES:
    write(each)
