# SPDX-License-Identifier: Apache-2.0
"""The command lockyard: plans measurements, has the harness make them, and shows the results."""
