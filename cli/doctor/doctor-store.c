/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "cli/terminal/time-text.h"
#include "common/text/size-text.h"
#include "hashstore/hash-store.h"
#include "hashstore/objects/history.h"
#include "hashstore/objects/objects.h"

static void report_failure(const GError *failed, Findings *findings)
{
	if (g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))
		findings_add(findings, FINDING_NOTE, "store", "nothing: the first pass makes it",
			     "%s", failed->message);
	else if (g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_CORRUPT) ||
		 g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_FOREIGN) ||
		 g_error_matches(failed, HASH_STORE_ERROR, HASH_STORE_ERROR_NEWER))
		findings_add(findings, FINDING_ERROR, "store", "passes refuse it, too", "%s",
			     failed->message);
	else
		findings_add(findings, FINDING_WARNING, "store", "see who may read the directory",
			     "%s", failed->message);
}

static void look_at_last_pass(const DoctorView *view, const PassRecord *last, Findings *findings)
{
	g_autofree char *ended = time_text_local(last->ended_usec);

	if (last->ended_usec > view->now_usec)
		findings_add(findings, FINDING_WARNING, "last pass", "set the clock",
			     "it ended in the future: %s", ended);
	else
		findings_add(findings, last->outcome == PASS_FAILED ? FINDING_WARNING : FINDING_OK,
			     "last pass",
			     last->outcome == PASS_FAILED ? "see the journal for why" : NULL,
			     "%s, %s", pass_outcome_name(last->outcome), ended);
}

/* On btrfs: how many objects are files, since these have no checksums, or are not plain. */
static bool look_at_files_read(HashStore *store, uint64_t n_objects, Findings *findings,
			       GError **error)
{
	uint64_t n_extents, n_stretches;

	if (!hash_store_has_extents(store))
		return true;
	if (!hash_store_count_objects_of(store, OBJECT_EXTENTS, &n_extents, error) ||
	    !hash_store_count_objects_of(store, OBJECT_STRETCHES, &n_stretches, error))
		return false;

	uint64_t n_files = n_objects - MIN(n_objects, n_extents + n_stretches);
	if (n_extents > 0 && n_files > 0)
		findings_add(findings, n_files > n_extents / 10 ? FINDING_NOTE : FINDING_OK,
			     "no checksums",
			     n_files > n_extents / 10
				     ? "mount without nodatacow and nodatasum, if possible; copy "
				       "the files to ones without +C ('chattr -C' does not change "
				       "files that have data)"
				     : NULL,
			     "%" G_GUINT64_FORMAT " files, beside %" G_GUINT64_FORMAT
			     " extents, had to be read, as their data has no checksums or the "
			     "settings demand it",
			     n_files, n_extents);
	return true;
}

static bool look_into(const DoctorView *view, HashStore *store, Findings *findings, GError **error)
{
	g_autofree char *size = size_text(hash_store_file_bytes(store));
	g_autoptr(PassCursor) passes = pass_cursor_open(store, error);
	const PassRecord *last;
	uint64_t n_objects;

	if (!passes || !hash_store_count_objects(store, &n_objects, error))
		return false;
	findings_add(findings, FINDING_OK, "store", NULL, "%s: %s, %" G_GUINT64_FORMAT " objects",
		     hash_store_path(store), size, n_objects);
	if (!look_at_files_read(store, n_objects, findings, error) ||
	    !pass_cursor_next(passes, &last, error))
		return false;

	if (last)
		look_at_last_pass(view, last, findings);
	else
		findings_add(findings, FINDING_NOTE, "last pass", NULL, "none has ended yet");
	return true;
}

void doctor_look_at_store(const DoctorView *view, const char *state_directory, const char *uuid,
			  Findings *findings)
{
	g_autoptr(GError) failed = NULL;
	g_autoptr(HashStore) store = hash_store_open_of(state_directory, uuid, &failed);

	if (!store || !look_into(view, store, findings, &failed))
		report_failure(failed, findings);
}
