# SPDX-License-Identifier: Apache-2.0
"""The field kit: looks at the locks of unmodified programs."""
