/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * AddressSet - the set of blocks of a filesystem that were met.  It has one bit per block in a mapped temporary
 * file: 32 MiB per TiB of used addresses.
 *
 * Thread: one at a time.
 */
typedef struct AddressSet AddressSet;

AddressSet *address_set_new(const char *directory, uint32_t block_bytes, GError **error);
void address_set_free(AddressSet *set);

bool address_set_has(const AddressSet *set, uint64_t address);

/* Returns false if the temporary file has no room. */
bool address_set_add(AddressSet *set, uint64_t address, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(AddressSet, address_set_free)
