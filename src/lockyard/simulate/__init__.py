# SPDX-License-Identifier: Apache-2.0
"""Locks on simulated machines: the machines, the simulator's processes, and what is shown."""
