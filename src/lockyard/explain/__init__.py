# SPDX-License-Identifier: Apache-2.0
"""Explains long stalls: reads traces, puts them in order, and finds the causes."""
