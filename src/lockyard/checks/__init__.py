# SPDX-License-Identifier: Apache-2.0
"""Checks locks in all executions that the memory model allows."""
