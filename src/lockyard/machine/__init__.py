# SPDX-License-Identifier: Apache-2.0
"""The machine: conditions of threads, settings of the kernel, and what is permitted."""
