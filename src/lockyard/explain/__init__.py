# SPDX-License-Identifier: Apache-2.0
"""Who was where during each long stall: traces are read, put in order, and given causes."""
