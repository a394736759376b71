# SPDX-License-Identifier: GPL-2.0-or-later
"""How soon a pass has to end when it is told to."""

import os

# What is promised; more where sleepers are not woken in time.
STOP_SECONDS = 2
OVERLOADED_STOP_SECONDS = 6


def patience():
    overloaded = os.getloadavg()[0] > 2 * os.cpu_count()
    return OVERLOADED_STOP_SECONDS if overloaded else STOP_SECONDS
