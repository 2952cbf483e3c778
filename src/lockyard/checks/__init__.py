# SPDX-License-Identifier: Apache-2.0
"""Checking locks against all executions that the memory model allows."""
