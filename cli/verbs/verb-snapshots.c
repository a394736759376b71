/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/subvolume-names.h"
#include "cli/files/btrfs-paths.h"
#include "cli/snapshots/subvolume-table.h"
#include "cli/snapshots/subvolume-usage.h"
#include "cli/terminal/message.h"
#include "cli/verbs/verb.h"
#include "common/mounts/mount-table.h"
#include "common/text/size-text.h"
#include "common/text/usage-error.h"
#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* The document around the subvolumes of one filesystem, for programs. */
#define FILESYSTEM_COLUMNS(COLUMN)                                                                 \
	COLUMN(FILESYSTEM_UUID, NULL, "filesystem", COLUMN_TEXT)                                   \
	COLUMN(FILESYSTEM_APPROXIMATE, NULL, "approximate", COLUMN_TEXT)                           \
	COLUMN(FILESYSTEM_BEING_FREED, NULL, "being_freed_bytes", COLUMN_NUMBER)                   \
	COLUMN(FILESYSTEM_TOGETHER, NULL, "together_bytes", COLUMN_NUMBER)                         \
	COLUMN(FILESYSTEM_TOGETHER_DATA, NULL, "together_data_bytes", COLUMN_NUMBER)               \
	COLUMN(FILESYSTEM_TOGETHER_METADATA, NULL, "together_metadata_bytes", COLUMN_NUMBER)       \
	COLUMN(FILESYSTEM_SUBVOLUMES, NULL, "subvolumes", COLUMN_TABLE)

TABLE_COLUMNS(filesystem_columns, FILESYSTEM_COLUMNS);

static const TableKind table_of_filesystems = { "snapshots", filesystem_columns,
						G_N_ELEMENTS(filesystem_columns),
						"dedupctl-snapshots", 1 };

typedef struct {
	const Options *options;
	Table *table;       /* for text: subvolumes of all filesystems */
	Table *filesystems; /* for programs */
	GString *summary;   /* below the table */
	ExitStatus status;
} Request;

/* A filesystem, and the subvolumes to delete from it. */
typedef struct {
	int fd;
	char uuid[FS_UUID_TEXT_BYTES];
	GArray *ids; /* uint64_t; a range as 0, its first and its last. NULL: not requested */
} Subject;

static void request_clear(Request *request)
{
	table_free(request->table);
	table_free(request->filesystems);
	g_string_free(request->summary, true);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Request, request_clear)

static void subject_free(void *data)
{
	Subject *subject = data;

	close(subject->fd);
	g_clear_pointer(&subject->ids, g_array_unref);
	g_free(subject);
}

static void fail(Request *request, const GError *error)
{
	if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_PERM))
		message_print("snapshots: only root may read the trees of the filesystem: %s",
			      error->message);
	else
		message_print("snapshots: %s", error->message);
	request->status = EXIT_STATUS_FAILED;
}

/* Find or make the subject for the filesystem of the descriptor, which is consumed. */
static Subject *subject_of(GPtrArray *subjects, int fd, const FsIdentity *identity)
{
	char uuid[FS_UUID_TEXT_BYTES];
	Subject *subject;

	fs_uuid_format(identity->uuid, uuid);
	for (guint i = 0; i < subjects->len; i++) {
		subject = subjects->pdata[i];
		if (strcmp(subject->uuid, uuid) == 0) {
			close(fd);
			return subject;
		}
	}

	subject = g_new0(Subject, 1);
	subject->fd = fd;
	memcpy(subject->uuid, uuid, sizeof(uuid));
	g_ptr_array_add(subjects, subject);
	return subject;
}

/* A filesystem by its UUID, or by any directory of it. */
static bool take_filesystem(GPtrArray *subjects, const MountTable *mounts, const char *name,
			    GError **error)
{
	g_auto(Fd) fd = mount_table_open_uuid(mounts, name);
	g_autofree char *safe = message_text(name);
	FsIdentity identity;

	if (fd < 0)
		fd = open(name, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno),
			    "cannot read %s: %s", safe, g_strerror(errno));
		return false;
	}
	if (!fs_identity_read(fd, &identity, error))
		return false;
	if (identity.kind != FS_KIND_BTRFS) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
			    "%s is not on btrfs: other filesystems have no subvolumes", safe);
		return false;
	}

	subject_of(subjects, fd_steal(&fd), &identity);
	return true;
}

/* Report filesystems that cannot be examined, and show the others. */
static void add_filesystem(Request *request, GPtrArray *subjects, const MountTable *mounts,
			   const char *name)
{
	g_autoptr(GError) error = NULL;

	if (!take_filesystem(subjects, mounts, name, &error))
		fail(request, error);
}

static bool list_filesystems(Request *request, GPtrArray *subjects, GError **error)
{
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, error);
	const GPtrArray *mounted = mounts ? mount_table_filesystems(mounts) : NULL;
	char **names = request->options->names;

	for (char **name = names; mounts && name && *name; name++)
		add_filesystem(request, subjects, mounts, *name);
	for (guint i = 0; !names && mounted && i < mounted->len; i++) {
		const MountedFilesystem *filesystem = mounted->pdata[i];

		if (filesystem->identity.kind == FS_KIND_BTRFS)
			add_filesystem(request, subjects, mounts, filesystem->uuid);
	}
	return mounts;
}

/* Add the subvolume, which must be on the same filesystem as those before. */
static bool take_subvolume(GPtrArray *subjects, const char *path, GError **error)
{
	g_autofree char *safe = message_text(path);
	FsIdentity identity;
	uint64_t id;
	g_auto(Fd) fd = subvolume_open(path, &id, error);

	if (fd < 0 || !fs_identity_read(fd, &identity, error))
		return false;
	if (id == BTRFS_SUBVOLUME_TOP)
		return usage_error_set(
			error, "%s is the top level of its filesystem, which cannot be deleted",
			safe);

	Subject *subject = subject_of(subjects, fd_steal(&fd), &identity);
	if (subjects->len > 1)
		return usage_error_set(
			error, "%s is of another filesystem than the subvolumes before", safe);
	if (!subject->ids)
		subject->ids = g_array_new(false, false, sizeof(uint64_t));
	g_array_append_val(subject->ids, id);
	return true;
}

static bool list_deleted(const Request *request, GPtrArray *subjects, GError **error)
{
	const uint64_t range = 0;

	for (char **name = request->options->names; name && *name; name++) {
		g_autofree char *first = NULL, *last = NULL;

		if (!subvolume_range_split(*name, &first, &last)) {
			if (!take_subvolume(subjects, *name, error))
				return false;
			continue;
		}

		if (!take_subvolume(subjects, first, error))
			return false;
		GArray *ids = ((Subject *)subjects->pdata[0])->ids;
		g_array_insert_val(ids, ids->len - 1, range);
		if (!take_subvolume(subjects, last, error))
			return false;
	}

	return true;
}

static bool find_place(const GArray *subvolumes, uint64_t id, guint *ret, GError **error)
{
	const BtrfsSubvolume *found = btrfs_subvolumes_find(subvolumes, id);

	if (found && !found->is_dead) {
		*ret = (guint)(found - &g_array_index(subvolumes, BtrfsSubvolume, 0));
		return true;
	}

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
		    "the subvolume %" G_GUINT64_FORMAT " was deleted meanwhile", id);
	return false;
}

static bool has_place(const GArray *places, guint place)
{
	for (guint i = 0; i < places->len; i++)
		if (g_array_index(places, guint, i) == place)
			return true;
	return false;
}

static void add_place(GArray *places, guint place)
{
	if (!has_place(places, place))
		g_array_append_val(places, place);
}

/* The places of the subvolumes to delete, each once; NULL on error. */
static GArray *resolve(const GArray *subvolumes, const GArray *ids, GError **error)
{
	g_autoptr(GArray) places = g_array_new(false, false, sizeof(guint));
	guint first, last;

	for (guint i = 0; i < ids->len; i++) {
		bool is_range = g_array_index(ids, uint64_t, i) == 0;

		i += is_range;
		if (!find_place(subvolumes, g_array_index(ids, uint64_t, i), &first, error))
			return NULL;
		if (!is_range) {
			add_place(places, first);
			continue;
		}

		i++;
		if (!find_place(subvolumes, g_array_index(ids, uint64_t, i), &last, error))
			return NULL;
		g_autoptr(GArray) range = subvolume_range_list(subvolumes, first, last, error);
		if (!range)
			return NULL;
		for (guint j = 0; j < range->len; j++)
			add_place(places, g_array_index(range, guint, j));
	}

	return g_steal_pointer(&places);
}

/* A subvolume cannot be deleted before the subvolumes in it. */
static void warn_of_nested(const GArray *subvolumes, const GArray *places, BtrfsPaths *paths)
{
	for (guint i = 0; i < subvolumes->len; i++) {
		const BtrfsSubvolume *inner = &g_array_index(subvolumes, BtrfsSubvolume, i);
		guint outer;

		if (inner->is_dead || inner->parent_id == 0 || has_place(places, i) ||
		    !find_place(subvolumes, inner->parent_id, &outer, NULL) ||
		    !has_place(places, outer))
			continue;

		g_autofree char *path = btrfs_paths_find_subvolume(paths, inner->id);
		g_autofree char *safe = message_text(path);
		message_print("%s lies in one of these subvolumes, and has to be deleted before",
			      safe);
	}
}

static void add_document(const Request *request, const Subject *subject,
			 const SubvolumeUsage *usage, const UsageBytes *together, Table *rows)
{
	const UsageBytes being_freed = subvolume_usage_being_freed(usage);
	Table *table = request->filesystems;

	table_add_row(table);
	table_set_text(table, FILESYSTEM_UUID, subject->uuid);
	table_set_text(table, FILESYSTEM_APPROXIMATE,
		       subvolume_usage_is_approximate(usage) ? "yes" : "no");
	table_set_size(table, FILESYSTEM_BEING_FREED,
		       being_freed.data_bytes + being_freed.metadata_bytes);
	if (together) {
		table_set_size(table, FILESYSTEM_TOGETHER,
			       together->data_bytes + together->metadata_bytes);
		table_set_size(table, FILESYSTEM_TOGETHER_DATA, together->data_bytes);
		table_set_size(table, FILESYSTEM_TOGETHER_METADATA, together->metadata_bytes);
	}
	table_set_table(table, FILESYSTEM_SUBVOLUMES, rows);
}

static void summarize(const Request *request, const SubvolumeUsage *usage,
		      const UsageBytes *together, guint n)
{
	const UsageBytes rest = subvolume_usage_being_freed(usage);
	g_autofree char *being_freed = size_text(rest.data_bytes + rest.metadata_bytes);

	if (together) {
		g_autofree char *total = size_text(together->data_bytes + together->metadata_bytes);
		g_autofree char *data = size_text(together->data_bytes);
		g_autofree char *metadata = size_text(together->metadata_bytes);

		g_string_append_printf(request->summary,
				       "Deleting %s would free %s: %s of data, %s of metadata.\n",
				       n == 1 ? "it" : "them together", total, data, metadata);
	}
	if (rest.data_bytes + rest.metadata_bytes > 0)
		g_string_append_printf(
			request->summary,
			"btrfs is still freeing %s of subvolumes that were deleted before.\n",
			being_freed);
}

static bool answer(Request *request, const Subject *subject, GError **error)
{
	g_autoptr(SubvolumeUsage) usage = subvolume_usage_measure(subject->fd, error);
	g_autoptr(BtrfsPaths) paths =
		usage ? btrfs_paths_new(subject->fd, subject->uuid, error) : NULL;
	g_autoptr(Table) rows = NULL;
	g_autoptr(GArray) places = NULL;
	UsageBytes together = { 0 };
	g_autoptr(DeferredSums) deferred =
		deferred_sums_read(request->options->state_directory, subject->uuid);

	if (!paths)
		return false;
	if (subject->ids) {
		const GArray *subvolumes = subvolume_usage_subvolumes(usage);

		places = resolve(subvolumes, subject->ids, error);
		if (!places)
			return false;
		together =
			subvolume_usage_exclusive(usage, (const guint *)places->data, places->len);
		warn_of_nested(subvolumes, places, paths);
	}

	rows = request->options->json ? subvolume_table_new(request->options) : NULL;
	subvolume_table_add(rows ? rows : request->table, usage, paths, deferred, subject->uuid,
			    places ? (const guint *)places->data : NULL, places ? places->len : 0);
	if (rows)
		add_document(request, subject, usage, places ? &together : NULL, rows);
	summarize(request, usage, places ? &together : NULL, places ? places->len : 0);
	if (subvolume_usage_is_approximate(usage))
		message_print("%s changed while dedupctl read it: the figures are approximate",
			      subject->uuid);
	return true;
}

static void print(const Request *request)
{
	if (request->options->json) {
		table_print(request->filesystems);
		return;
	}

	table_print(request->table);
	if (!options_are_for_programs(request->options) && request->summary->len > 0)
		printf("\n%s", request->summary->str);
}

ExitStatus verb_snapshots(const Options *options)
{
	g_auto(Request) request = { .options = options, .summary = g_string_new(NULL) };
	g_autoptr(GPtrArray) subjects = g_ptr_array_new_with_free_func(subject_free);
	g_autoptr(GError) error = NULL;

	if (options->deletes && !options->names)
		return message_fail(EXIT_STATUS_USAGE, "snapshots: --delete takes subvolumes");
	request.table = subvolume_table_new(options);
	request.filesystems = table_new(&table_of_filesystems, options);
	if (options->deletes ? !list_deleted(&request, subjects, &error)
			     : !list_filesystems(&request, subjects, &error)) {
		fail(&request, error);
		return error->domain == G_OPTION_ERROR ? EXIT_STATUS_USAGE : request.status;
	}

	for (guint i = 0; i < subjects->len; i++) {
		g_autoptr(GError) failed = NULL;

		if (answer(&request, subjects->pdata[i], &failed))
			continue;
		fail(&request, failed);
		if (failed->domain == G_OPTION_ERROR)
			request.status = EXIT_STATUS_USAGE;
	}
	print(&request);
	return request.status;
}
