# SPDX-License-Identifier: Apache-2.0
"""Campaigns: many tasks on one machine or many, one file of results for each task and machine."""
