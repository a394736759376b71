/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/pin-cause.h"

#include "common/text/short-path.h"

#include <string.h>

static const char *const cause_names[PIN_CAUSES] = {
	[PIN_NONE] = "none",
	[PIN_UNCOVERED] = "uncovered",
	[PIN_DELETED_FILE] = "deleted-file",
	[PIN_DIFFERS] = "differs",
	[PIN_NEEDS_READING] = "needs-reading",
	[PIN_UNFIT_SOURCES] = "unfit-sources",
	[PIN_TOO_COSTLY] = "too-costly",
	[PIN_READ_ONLY_SNAPSHOT] = "read-only-snapshot",
	[PIN_IMMUTABLE] = "immutable",
	[PIN_RESERVED] = "reserved",
	[PIN_DELETED_SUBVOLUME] = "deleted-subvolume",
	[PIN_PIECES] = "pieces",
	[PIN_METADATA] = "metadata",
	[PIN_KEEP_ZEROS] = "keep-zeros",
	[PIN_SNAPSHOTS] = "snapshots",
	[PIN_COPY_SPACE] = "copy-space",
};

const char *pin_cause_name(PinCause cause)
{
	return cause < PIN_CAUSES ? cause_names[cause] : "unknown";
}

void pin_ledger_add(PinLedger *ledger, PinCause cause, uint64_t bytes, uint64_t uncovered_bytes,
		    uint64_t places, const char *path)
{
	PinEntry *entry = &ledger->entries[cause];

	if (cause == PIN_NONE)
		return;

	entry->count++;
	entry->bytes += bytes;
	entry->uncovered_bytes += uncovered_bytes;
	if (path && pin_ledger_wants_example(ledger, cause))
		entry->examples[entry->n_examples++] = (PinExample){
			.path = short_path_escaped(path),
			.uncovered_bytes = uncovered_bytes,
			.places = places,
		};
}

bool pin_ledger_wants_example(const PinLedger *ledger, PinCause cause)
{
	return cause != PIN_NONE && ledger->entries[cause].n_examples < PIN_EXAMPLES;
}

void pin_ledger_clear(PinLedger *ledger)
{
	for (size_t cause = 0; cause < PIN_CAUSES; cause++)
		for (size_t i = 0; i < ledger->entries[cause].n_examples; i++)
			g_free(ledger->entries[cause].examples[i].path);

	memset(ledger, 0, sizeof(*ledger));
}
