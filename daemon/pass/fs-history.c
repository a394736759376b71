/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/fs-history.h"

#include "daemon/btrfs/find/extent-history.h"
#include "daemon/pass/file-history.h"
#include "hashstore/objects/objects.h"
#include "hashstore/objects/stand-note.h"
#include "kernel-ioctl/file/mount-instance.h"

/* The id of the boot, which the sandbox of the service hides. */
#define BOOT_VARIABLE "DEDUPD_BOOT_ID"

/* MountInstance of the last pass. */
#define INSTANCE_NOTE "mount-instance"

#define EXTENTS_NOTE "witnesses-of-extents"
#define FILES_NOTE   "witnesses-of-files"

static bool check(Pass *pass, bool by_checksums, bool *ret_is_continued, GError **error)
{
	g_autoptr(Witnesses) witnesses = NULL;
	uint64_t n_objects;

	*ret_is_continued = true;
	if (!hash_store_count_objects(pass->store, &n_objects, error))
		return false;
	if (n_objects == 0)
		return true;
	if (!witnesses_load(pass->store, by_checksums ? EXTENTS_NOTE : FILES_NOTE, &witnesses,
			    error))
		return false;

	return by_checksums ? extent_history_check(pass, witnesses, ret_is_continued, error)
			    : file_history_check(pass, witnesses, ret_is_continued, error);
}

/* Fingerprints hold as long as the stamps of the files, but the files are not shared any more. */
static bool unsettle_files(Pass *pass, GError **error)
{
	return hash_store_unsettle(pass->store, error) &&
	       hash_store_set_note(pass->store, FILES_NOTE, "", error) &&
	       stand_note_lose(pass->store, error);
}

bool fs_history_begin(Pass *pass, bool by_checksums, bool *ret_is_emptied, GError **error)
{
	const Filesystem *filesystem = pass->filesystem;
	g_autofree char *instance = mount_instance_read("/sys", "/proc", g_getenv(BOOT_VARIABLE),
							&filesystem->identity, filesystem->device);
	g_autofree char *known = NULL;
	bool is_continued;

	*ret_is_emptied = false;
	if (!hash_store_get_note(pass->store, INSTANCE_NOTE, &known, error))
		return false;
	if (instance && g_strcmp0(instance, known) == 0)
		return true;
	if (!check(pass, by_checksums, &is_continued, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;

	if (!is_continued) {
		g_message(
			"%s: the filesystem was set back to an earlier state: all of it is looked "
			"at again",
			filesystem->mount_point);
		*ret_is_emptied = by_checksums;
		if (by_checksums ? !hash_store_forget_all(pass->store, error)
				 : !unsettle_files(pass, error))
			return false;
	}

	/* Cursors see only committed data. */
	return (!instance || hash_store_set_note(pass->store, INSTANCE_NOTE, instance, error)) &&
	       (is_continued || pass_commit(pass, error));
}

bool fs_history_end(Pass *pass, GError **error)
{
	bool by_checksums = pass->result->found_by_checksums;
	const char *note = by_checksums ? EXTENTS_NOTE : FILES_NOTE;
	g_autoptr(Witnesses) witnesses = NULL;
	bool is_changed;

	if (!pass_checkpoint(pass))
		return true;
	if (!witnesses_load(pass->store, note, &witnesses, error))
		return false;
	if (by_checksums ? !extent_history_remember(pass, witnesses, &is_changed, error)
			 : !file_history_remember(pass, witnesses, &is_changed, error))
		return false;

	return !is_changed || witnesses_save(witnesses, pass->store, note, error);
}
