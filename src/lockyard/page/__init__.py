# SPDX-License-Identifier: Apache-2.0
"""The HTML page: one file with advice, tables and charts that needs no network."""
