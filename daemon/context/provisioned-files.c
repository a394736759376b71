/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/provisioned-files.h"

#include "common/content/zeros.h"
#include "kernel-ioctl/btrfs/btrfs-file-extent.h"
#include "kernel-ioctl/btrfs/btrfs-names.h"
#include "kernel-ioctl/call/file-key.h"

#define FILES_MAX 4096

typedef struct {
	FileKey key;
	bool is_provisioned;
} JudgedFile;

struct ProvisionedFiles {
	const Pass *pass;
	BtrfsFileExtents *extents;
	BtrfsNames *names;
	GHashTable *judged; /* JudgedFile, a set */
};

ProvisionedFiles *provisioned_files_new(const Pass *pass)
{
	ProvisionedFiles *files = g_new0(ProvisionedFiles, 1);

	files->pass = pass;
	files->extents = btrfs_file_extents_new();
	files->names = btrfs_names_new(pass->filesystem->fd);
	files->judged = g_hash_table_new_full(file_key_hash, file_key_equal, g_free, NULL);
	return files;
}

void provisioned_files_free(ProvisionedFiles *files)
{
	if (!files)
		return;

	btrfs_file_extents_free(files->extents);
	btrfs_names_free(files->names);
	g_hash_table_unref(files->judged);
	g_free(files);
}

/* Look at the file's extents.  One unwritten extent is enough, so the rest need not be looked at. */
static bool read_extents(ProvisionedFiles *files, const ExtentRef *place, ZerosEvidence *ret,
			 GError **error)
{
	const BtrfsFileExtent *item;
	uint64_t end = 0;

	btrfs_file_extents_start(files->extents, files->pass->filesystem->fd, place->root,
				 place->inode, 0, place->size_bytes);
	while (!ret->has_unwritten && pass_pay(files->pass)) {
		if (!btrfs_file_extents_next(files->extents, &item, error))
			return false;
		if (!item)
			break;
		ret->has_unwritten = item->kind == BTRFS_FILE_EXTENT_IS_PREALLOC;
		ret->has_hole |= item->logical > end ||
				 (item->kind == BTRFS_FILE_EXTENT_IS_REGULAR && item->bytenr == 0);
		end = item->logical + item->length;
	}

	ret->has_hole |= end < place->size_bytes;
	return true;
}

/* Whether the file looks provisioned under any of its names; one that is deleted has none. */
static bool judge_names(ProvisionedFiles *files, const ExtentRef *place, ZerosEvidence *evidence,
			bool *ret, GError **error)
{
	const BtrfsName *name;

	evidence->name = "";
	*ret = zeros_look_provisioned(evidence);
	btrfs_names_start(files->names, place->root, place->inode);
	while (!*ret && pass_pay(files->pass)) {
		if (!btrfs_names_next(files->names, &name, error))
			return false;
		if (!name)
			break;
		evidence->name = name->name;
		*ret = zeros_look_provisioned(evidence);
	}

	return true;
}

static bool judge(ProvisionedFiles *files, const ExtentRef *place, bool *ret, GError **error)
{
	ZerosEvidence evidence = { .size_bytes = place->size_bytes };
	g_autoptr(GError) failed = NULL;

	*ret = true;
	if (read_extents(files, place, &evidence, &failed))
		return judge_names(files, place, &evidence, ret, error);
	/* The subvolume was deleted. */
	if (g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_NOENT))
		return true;

	g_propagate_error(error, g_steal_pointer(&failed));
	return false;
}

bool provisioned_files_has(ProvisionedFiles *files, const ExtentRef *place, bool *ret,
			   GError **error)
{
	JudgedFile asked = { .key = { place->root, place->inode } };
	const JudgedFile *known = g_hash_table_lookup(files->judged, &asked);

	if (known) {
		*ret = known->is_provisioned;
		return true;
	}
	if (!judge(files, place, &asked.is_provisioned, error))
		return false;
	/* If a stop cut this short, what was not seen could make it provisioned. */
	*ret = true;
	if (atomic_load(files->pass->stop))
		return true;

	if (g_hash_table_size(files->judged) >= FILES_MAX)
		g_hash_table_remove_all(files->judged);
	g_hash_table_add(files->judged, g_memdup2(&asked, sizeof(asked)));
	*ret = asked.is_provisioned;
	return true;
}
