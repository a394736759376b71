/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * AddressSet - which blocks of a filesystem were met: a bit for each, in a mapped temporary file, of
 * 32 MiB to a TiB of addresses that are in use.
 *
 * Thread: one at a time.
 */
typedef struct AddressSet AddressSet;

AddressSet *address_set_new(const char *directory, uint32_t block_bytes, GError **error);
void address_set_free(AddressSet *set);

bool address_set_has(const AddressSet *set, uint64_t address);

/* False: the temporary file has no room. */
bool address_set_add(AddressSet *set, uint64_t address, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(AddressSet, address_set_free)
