# SPDX-License-Identifier: Apache-2.0
"""Two measurings against each other."""
