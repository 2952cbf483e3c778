# SPDX-License-Identifier: Apache-2.0
"""A user's own locks: named on the command line, compiled into the studies, measured as others."""
