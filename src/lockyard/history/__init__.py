# SPDX-License-Identifier: Apache-2.0
"""Many record files of a folder, queried together."""
