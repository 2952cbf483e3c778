# SPDX-License-Identifier: Apache-2.0
"""Compares two measurements with each other."""
