# SPDX-License-Identifier: Apache-2.0
"""Tables, verdicts and everything else that is printed about measurements."""
