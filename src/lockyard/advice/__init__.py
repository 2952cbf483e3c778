# SPDX-License-Identifier: Apache-2.0
"""Advice from measurements: which lock to use, which to avoid, and how sure each answer is."""
