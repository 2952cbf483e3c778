# SPDX-License-Identifier: Apache-2.0
"""User locks: named on the command line, compiled into the studies, measured like all others."""
