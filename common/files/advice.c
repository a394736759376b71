/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/files/advice.h"

#include "common/text/size-text.h"

#include <string.h>

static const char *const pin_advice[PIN_CAUSES] = {
	[PIN_UNCOVERED] =
		"files show parts that exist nowhere else; freed when these are overwritten "
		"or deleted; Rewrite=auto copies small ones, and Rewrite=more larger ones",
	[PIN_DELETED_FILE] =
		"a deleted file that is still open shows them; end the program that has "
		"it open ('lsof +L1')",
	[PIN_DIFFERS] = "other data with equal checksums differs; nothing to do",
	[PIN_NEEDS_READING] =
		"they are compressed and equal others in part; Compressed=read would read them",
	[PIN_UNFIT_SOURCES] = "their duplicates cannot replace them; a later pass tries again",
	[PIN_TOO_COSTLY] = "too many references would have to be compared; raise MaxCompare=, or "
			   "delete snapshots that show them",
	[PIN_READ_ONLY_SNAPSHOT] =
		"read-only snapshots show them; ReadOnlySnapshots=share would share these, too",
	[PIN_IMMUTABLE] = "immutable files show them; 'chattr -i' would allow it",
	[PIN_RESERVED] =
		"files reserve the rest of them for later writes; freed when that is written",
	[PIN_DELETED_SUBVOLUME] =
		"a deleted subvolume still has them; btrfs gives that back in the background",
	[PIN_PIECES] = "would split files into too many extents; a lower MinRun= would allow it",
	[PIN_METADATA] =
		"metadata would grow by more than is freed; delete snapshots that show them",
	[PIN_KEEP_ZEROS] = "zeros in them are kept as Zeros= says; Zeros=hole would free them",
	[PIN_SNAPSHOTS] = "read-only snapshots hold them; freed when these are deleted",
	[PIN_COPY_SPACE] = "copies of parts would take much of the free space while snapshots hold "
			   "the extents; delete snapshots that show them",
};

static const char *const skip_advice[SKIP_REASONS] = {
	[SKIP_SPECIAL] = "no regular files; nothing to do",
	[SKIP_SMALL] = "smaller than the limit; a lower MinSize= would take them",
	[SKIP_EXCLUDED] = "patterns exclude them; see Exclude= ('dedupctl config')",
	[SKIP_OWN_STATE] = "files of dedupd itself; nothing to do",
	[SKIP_OTHER_MOUNT] = "another filesystem is mounted there; enable it by itself",
	[SKIP_TOO_DEEP] = "the directories are nested too deep; move them up",
	[SKIP_DENIED] = "files of other users; run the pass as root",
	[SKIP_LEASED] = "a program holds a lease on them; the next pass tries again",
	[SKIP_UNREADABLE] = "the disk cannot read their data; restore the named files",
	[SKIP_SWAP_FILE] = "swap files, which the kernel takes only if they share nothing; "
			   "'wipefs -a' on one that is none any more would allow it",
	[SKIP_BOOT] = "files of /boot, which boot loaders read; nothing to do",
	[SKIP_IMMUTABLE] = "immutable files; 'chattr -i' would allow it",
	[SKIP_NO_COW] = "files without copy-on-write; NoDataCow=share would take them",
	[SKIP_KEEP_ZEROS] = "zeros that are kept as Zeros= says; Zeros=hole would free them",
	[SKIP_INLINE] = "data inside metadata; nothing can be deduplicated there",
	[SKIP_BUSY] = "in use, or part of a snapshot being sent; the next pass tries again",
	[SKIP_CHANGED] = "changed while the pass ran; the next pass tries again",
	[SKIP_DIFFERS] = "other data with equal checksums differs; nothing to do",
	[SKIP_NO_SPACE] = "no room for metadata or quota; free space, the next pass tries again",
	[SKIP_READ_ONLY] = "the filesystem is mounted read-only; mount it writable",
	[SKIP_REALTIME] = "data on the realtime device; the kernel cannot share it",
	[SKIP_UNSUPPORTED] = "the kernel cannot share this kind of file; nothing to do",
	[SKIP_NO_TEMPORARY_FILE] =
		"no unnamed file could be made there; allow writing to the directory",
	[SKIP_NO_SUMS] = "data without checksums, or space not written yet; nothing to do",
	[SKIP_PINNED] = "extents that duplicate other data but cannot be freed yet; see the causes",
	[SKIP_DOUBTFUL] = "much was compared in vain; the next pass tries again",
	[SKIP_READ_ONLY_SNAPSHOT] =
		"read-only snapshots show them; ReadOnlySnapshots=share would share these, too",
	[SKIP_OUTSIDE] = "files outside of the paths of the pass show them; name these paths, too",
	[SKIP_NEEDS_READING] =
		"they are compressed and equal others in part; Compressed=read would read them",
	[SKIP_PIECES] = "would split files into too many extents; a lower MinRun= would allow it",
	[SKIP_METADATA] =
		"metadata would grow by more than is freed; delete snapshots that show them",
	[SKIP_NO_METADATA_SPACE] =
		"little room is left for metadata; free space or 'btrfs balance', then run again",
	[SKIP_OTHER_OWNER] = "equal data of another user; AcrossOwners=yes would share it",
	[SKIP_YOUNG] = "written to a moment ago; a lower MinAge= would take them at once",
	[SKIP_CHANGES_OFTEN] =
		"found changed time and again; Changing=read would read them each time",
	[SKIP_STORE_LIMIT] = "the store is full; a higher StoreLimit= would take them",
	[SKIP_STATE_SPACE] = "little room is left beside the store; free space there, or move "
			     "StateDirectory=",
	[SKIP_LARGE_OFFSET] =
		"data beyond 16 TiB of a file; only whole equal files are shared there",
	[SKIP_MANY_NAMES] =
		"too many names or too deep to find out which limits apply; limit the pass "
		"less",
	[SKIP_CLONES] = "too many references would have to be compared; raise MaxCompare=, or "
			"delete clones and snapshots",
};

const char *advice_of_pin(PinCause cause)
{
	return cause < PIN_CAUSES ? pin_advice[cause] : NULL;
}

const char *advice_of_skip(SkipReason reason)
{
	return skip_reason_is_known(reason) ? skip_advice[reason] : NULL;
}

char *advice_of_costs(SkipReason reason, uint64_t bytes, uint64_t costly_bytes)
{
	if (reason != SKIP_CLONES || bytes == 0 || costly_bytes == 0)
		return g_strdup(advice_of_skip(reason));

	g_autofree char *costs = size_text(costly_bytes);
	g_autofree char *freed = size_text(bytes);

	return g_strdup_printf("not tried: %s would have to be compared for %s; "
			       "MaxCompare=%" G_GUINT64_FORMAT
			       " would do it, or delete clones and snapshots",
			       costs, freed, costly_bytes / bytes + 1);
}

/* Insert the name into the part before the remedy. */
static char *advice_with_name(const char *advice, const char *in, const char *name)
{
	const char *remedy = advice ? strstr(advice, "; ") : NULL;

	if (!remedy)
		return g_strconcat(advice ? advice : "a newer dedupd knows why", in, name, NULL);
	return g_strdup_printf("%.*s%s%s%s", (int)(remedy - advice), advice, in, name, remedy);
}

char *advice_of_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t places,
			const char *by)
{
	g_autofree char *uncovered = size_text(uncovered_bytes);
	const char *in = by ? ", shown by " : "";
	const char *name = by ? by : "";

	switch (cause) {
	case PIN_UNCOVERED:
	case PIN_DELETED_FILE:
		if (n == 1)
			return g_strdup_printf("%s of this extent exist nowhere else%s%s; freed "
					       "when that is overwritten or deleted",
					       uncovered, in, name);
		return g_strdup_printf("%s of these %" G_GUINT64_FORMAT
				       " extents exist nowhere else%s%s; freed when that is "
				       "overwritten or deleted",
				       uncovered, n, in, name);
	case PIN_TOO_COSTLY:
		return g_strdup_printf("not tried: %" G_GUINT64_FORMAT
				       " references or more would have to be compared; raise "
				       "MaxCompare=, or delete snapshots that show them",
				       places);
	case PIN_PIECES:
		return g_strdup("would split the file into too many extents (MinRun=)");
	case PIN_SNAPSHOTS:
		return g_strdup_printf(
			"it is freed when the snapshots that show it are deleted%s%s",
			by ? ", the newest of them " : "", name);
	default:
		return advice_with_name(advice_of_pin(cause), in, name);
	}
}

char *advice_of_own_extents(PinCause cause, uint64_t n, uint64_t uncovered_bytes, uint64_t bytes)
{
	/* A compressed extent has more bytes in files than on the disk, so no part of it can be told. */
	if (cause != PIN_UNCOVERED || uncovered_bytes == 0 || uncovered_bytes >= bytes)
		return NULL;

	g_autofree char *covered = size_text(bytes - uncovered_bytes);
	g_autofree char *uncovered = size_text(uncovered_bytes);
	g_autofree char *all = size_text(bytes);

	return g_strdup_printf(
		"%s of %s equal other data, but btrfs frees only whole extents, and %s of %s %s "
		"exist nowhere else; Rewrite=auto copies small remainders, Rewrite=more larger "
		"ones; rewriting them lets the next pass free it",
		covered, n == 1 ? "it" : "these extents", uncovered, n == 1 ? "its" : "their", all);
}
