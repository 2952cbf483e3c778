# SPDX-License-Identifier: Apache-2.0
"""Planning and running measurements: from the options to the records."""
