/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/hash-store.h"
#include "tests/fuzz/choices.h"

/*
 * HostileStore - a store that somebody damaged: bytes of SQLite's pages, or values in rows that SQLite
 * itself finds right.
 *
 * Thread: main.
 */
#define HOSTILE_STORE_UUID  "3d0e6d5b-7c4f-4b4a-9d51-0c5e8a1b2c3d"
#define HOSTILE_STORE_BLOCK 4096

/* What a valid store of this kind is opened with; @kind is "btrfs" or "XFS". */
HashStoreOptions hostile_store_options(const char *directory, const char *kind);

/* Fill @store with some of everything that a store has, and commit. */
void hostile_store_fill(HashStore *store);

/* Damage the file of a store that is closed: a few rows by SQL, or a few bytes. */
void hostile_store_damage(Choices *choices, const char *path);
