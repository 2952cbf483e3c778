# SPDX-License-Identifier: Apache-2.0
"""The command line: its commands, options and completion."""
