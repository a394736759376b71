/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/skip.h"

#include "common/text/short-path.h"

#include <string.h>

static const char *const reason_names[SKIP_REASONS] = {
	[SKIP_SPECIAL] = "special",
	[SKIP_SMALL] = "small",
	[SKIP_EXCLUDED] = "excluded",
	[SKIP_OWN_STATE] = "own-state",
	[SKIP_OTHER_MOUNT] = "other-mount",
	[SKIP_TOO_DEEP] = "too-deep",
	[SKIP_DENIED] = "denied",
	[SKIP_LEASED] = "leased",
	[SKIP_UNREADABLE] = "unreadable",
	[SKIP_SWAP_FILE] = "swap-file",
	[SKIP_BOOT] = "boot",
	[SKIP_IMMUTABLE] = "immutable",
	[SKIP_NO_COW] = "nodatacow",
	[SKIP_KEEP_ZEROS] = "keep-zeros",
	[SKIP_INLINE] = "inline",
	[SKIP_BUSY] = "busy",
	[SKIP_CHANGED] = "changed",
	[SKIP_DIFFERS] = "differs",
	[SKIP_NO_SPACE] = "no-space",
	[SKIP_READ_ONLY] = "read-only",
	[SKIP_REALTIME] = "realtime",
	[SKIP_UNSUPPORTED] = "unsupported",
	[SKIP_NO_TEMPORARY_FILE] = "no-temporary-file",
	[SKIP_NO_SUMS] = "no-checksums",
	[SKIP_PINNED] = "pinned",
	[SKIP_DOUBTFUL] = "doubtful",
	[SKIP_READ_ONLY_SNAPSHOT] = "read-only-snapshot",
	[SKIP_OUTSIDE] = "outside",
	[SKIP_NEEDS_READING] = "needs-reading",
	[SKIP_PIECES] = "pieces",
	[SKIP_METADATA] = "metadata",
	[SKIP_NO_METADATA_SPACE] = "no-metadata-space",
	[SKIP_OTHER_OWNER] = "other-owner",
	[SKIP_YOUNG] = "young",
	[SKIP_CHANGES_OFTEN] = "changes-often",
	[SKIP_STORE_LIMIT] = "store-limit",
	[SKIP_STATE_SPACE] = "state-space",
	[SKIP_LARGE_OFFSET] = "large-offset",
	[SKIP_MANY_NAMES] = "many-names",
	[SKIP_CLONES] = "clones",
};

bool skip_may_pass(SkipReason reason)
{
	return reason == SKIP_BUSY || reason == SKIP_LEASED || reason == SKIP_CHANGED ||
	       reason == SKIP_NO_SPACE || reason == SKIP_NO_TEMPORARY_FILE ||
	       reason == SKIP_DOUBTFUL || reason == SKIP_YOUNG || reason == SKIP_CHANGES_OFTEN ||
	       reason == SKIP_STORE_LIMIT || reason == SKIP_STATE_SPACE;
}

bool skip_reason_is_known(uint32_t number)
{
	return number < SKIP_REASONS && reason_names[number];
}

const char *skip_reason_name(SkipReason reason)
{
	return skip_reason_is_known(reason) ? reason_names[reason] : "unknown";
}

bool skip_reason_parse(const char *name, SkipReason *ret)
{
	for (size_t i = 0; i < G_N_ELEMENTS(reason_names); i++) {
		if (g_strcmp0(reason_names[i], name) != 0)
			continue;
		*ret = (SkipReason)i;
		return true;
	}
	return false;
}

void skip_ledger_add(SkipLedger *ledger, SkipReason reason, uint64_t bytes, const char *path)
{
	SkipEntry *entry = &ledger->entries[reason];

	entry->count++;
	entry->bytes += bytes;
	if (!path)
		return;

	for (size_t i = 0; i < SKIP_EXAMPLES; i++) {
		if (entry->examples[i])
			continue;
		entry->examples[i] = short_path_escaped(path);
		return;
	}
}

bool skip_ledger_wants_example(const SkipLedger *ledger, SkipReason reason)
{
	return !ledger->entries[reason].examples[SKIP_EXAMPLES - 1];
}

void skip_ledger_clear(SkipLedger *ledger)
{
	for (size_t reason = 0; reason < SKIP_REASONS; reason++)
		for (size_t i = 0; i < SKIP_EXAMPLES; i++)
			g_clear_pointer(&ledger->entries[reason].examples[i], g_free);

	memset(ledger, 0, sizeof(*ledger));
}
