# SPDX-License-Identifier: GPL-2.0-or-later
"""Passes that find filesystems with what cannot be had on a machine for tests (feigned-kernel.c)."""

import contextlib
import os

import pytest


@contextlib.contextmanager
def feigning(dedupd, **variables):
    """Passes meanwhile are deceived as the variables say."""
    if "FEIGNED_KERNEL" not in os.environ:
        pytest.skip("FEIGNED_KERNEL does not name the library that feigns")
    dedupd.feigned = {"LD_PRELOAD": os.environ["FEIGNED_KERNEL"], **variables}
    yield
    dedupd.feigned = {}
