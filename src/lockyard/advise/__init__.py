# SPDX-License-Identifier: Apache-2.0
"""Which lock to use for a given use, on this machine, from records or from a new measurement."""
