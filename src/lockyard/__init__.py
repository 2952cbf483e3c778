# SPDX-License-Identifier: Apache-2.0
"""The command lockyard: plans measurements, runs them in the harness, and shows the results."""
