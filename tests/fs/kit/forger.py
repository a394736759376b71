# SPDX-License-Identifier: GPL-2.0-or-later
"""Blocks that differ and have the CRC-32C of others.

A checksum is linear: what is added to a block changes it in the same way whatever the block holds.
So a difference whose own checksum is zero, added to any block, makes another one with the same sum.
"""

import random

from content import BLOCK

POLYNOMIAL = 0x82F63B78  # Castagnoli's, lowest bit first
NOISE_BYTES = 8


def checksum(data):
    """The CRC-32C of @data."""
    return _remainder(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def _remainder(data, register=0):
    """The register after @data, from zero and without the last inversion: the linear part."""
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (POLYNOMIAL if register & 1 else 0)
    return register


def _difference(generator):
    """Bytes whose checksum is that of as many zeros."""
    noise = bytes([generator.randrange(1, 256)]) + generator.randbytes(NOISE_BYTES - 1)
    return noise + _remainder(noise).to_bytes(4, "little")


def forge(data, seed, blocks=None):
    """Other data with the same sum in each block; only @blocks differ, or all whole ones."""
    generator = random.Random(seed)
    forged = bytearray(data)
    for block in range(len(data) // BLOCK) if blocks is None else blocks:
        difference = _difference(generator)
        at = block * BLOCK + generator.randrange(BLOCK - len(difference))
        for number, byte in enumerate(difference, at):
            forged[number] ^= byte
    return bytes(forged)
