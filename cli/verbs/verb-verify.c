/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/store-list.h"
#include "cli/stores/verifier.h"
#include "cli/terminal/message.h"
#include "cli/terminal/pass-text.h"
#include "cli/terminal/progress-line.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/mounts/mount-table.h"
#include "common/text/name-text.h"
#include "common/text/size-text.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/machine/thread-priority.h"

#include <string.h>

#define SAMPLE_USUAL  1.0
#define EXAMPLES_MOST 10

#define VERIFY_COLUMNS(COLUMN)                                                                     \
	COLUMN(VERIFY_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                  \
	COLUMN(VERIFY_UUID, NULL, "uuid", COLUMN_TEXT)                                             \
	COLUMN(VERIFY_OBJECTS, "OBJECTS", "objects", COLUMN_NUMBER)                                \
	COLUMN(VERIFY_CHECKED, "CHECKED", "checked", COLUMN_NUMBER)                                \
	COLUMN(VERIFY_RIGHT, "RIGHT", "right", COLUMN_NUMBER)                                      \
	COLUMN(VERIFY_STALE, "STALE", "stale", COLUMN_NUMBER)                                      \
	COLUMN(VERIFY_UNREADABLE, "UNREADABLE", "unreadable", COLUMN_NUMBER)                       \
	COLUMN(VERIFY_WRONG, "WRONG", "wrong", COLUMN_NUMBER)                                      \
	COLUMN(VERIFY_READ, "READ", "read_bytes", COLUMN_NUMBER)                                   \
	COLUMN(VERIFY_EXAMPLES, "EXAMPLES", "examples", COLUMN_LINES)

TABLE_COLUMNS(columns, VERIFY_COLUMNS);

const TableKind table_of_verify = { "stores", columns, G_N_ELEMENTS(columns), "dedupctl-verify",
				    1 };

/* The request. */
typedef struct {
	const MountTable *mounts;
	Table *table;
	double percent;
	uint64_t rate_bytes;
	bool found_wrong;
} Verify;

/* The results for one store. */
typedef struct {
	uint64_t n_objects; /* that can be verified */
	uint64_t n_checked;
	uint64_t counts[N_VERIFIED];
	GString *examples;
	unsigned n_examples;
	uint32_t seed;
	ProgressLine progress;
} Result;

static void result_clear(Result *result)
{
	g_string_free(result->examples, TRUE);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Result, result_clear)

/* Each run has another sample, in which all objects are equally likely. */
static bool is_in_sample(const Result *result, uint32_t object, double percent)
{
	uint64_t mixed = ((uint64_t)object ^ result->seed) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return percent >= 100 ||
	       (double)(mixed >> 11) / (double)(UINT64_C(1) << 53) < percent / 100;
}

static void note_wrong(Result *result, const Object *object)
{
	g_autofree char *name = name_text((const char *)object->name, object->name_bytes);
	g_autofree char *what = object->name_bytes > 0
					? g_strdup_printf("inode %" G_GUINT64_FORMAT
							  " of subvolume %" G_GUINT64_FORMAT ": %s",
							  object->inode, object->subvolume, name)
					: g_strdup_printf("at %" G_GUINT64_FORMAT
							  " of subvolume %" G_GUINT64_FORMAT,
							  object->inode, object->subvolume);

	if (result->n_examples++ < EXAMPLES_MOST)
		g_string_append_printf(result->examples, "%s%s",
				       result->examples->len > 0 ? "\n" : "", what);
}

static void show_progress(Result *result, const Verifier *verifier)
{
	g_autofree char *read = NULL;

	if (!progress_line_is_due(&result->progress))
		return;
	read = size_text(verifier_read_bytes(verifier));
	progress_line_show(&result->progress,
			   "%" G_GUINT64_FORMAT " verified, %s read, %" G_GUINT64_FORMAT " wrong",
			   result->n_checked, read, result->counts[VERIFIED_WRONG]);
}

static bool look_at_all(const Verify *verify, HashStore *store, Verifier *verifier, Result *result,
			GError **error)
{
	g_autoptr(ObjectCursor) cursor = object_cursor_open(store, error);
	const Object *object;

	if (!cursor)
		return false;
	while (true) {
		Verified verified;

		if (!object_cursor_next(cursor, &object, error))
			return false;
		if (!object)
			return true;
		if (!verifier_takes(verifier, object))
			continue;
		result->n_objects++;
		show_progress(result, verifier);
		if (!is_in_sample(result, object->id, verify->percent))
			continue;

		if (!verifier_look(verifier, object, &verified, error))
			return false;
		result->n_checked++;
		result->counts[verified]++;
		if (verified == VERIFIED_WRONG)
			note_wrong(result, object);
	}
}

static void add_row(const Verify *verify, const StoreEntry *entry, const Result *result,
		    const Verifier *verifier)
{
	g_autofree char *mount_point = pass_mount_point(&entry->last_pass);
	Table *table = verify->table;

	table_add_row(table);
	table_set_text(table, VERIFY_MOUNT, mount_point);
	table_set_escaped(table, VERIFY_UUID, hash_store_about(entry->store)->uuid);
	table_set_count(table, VERIFY_OBJECTS, result->n_objects);
	table_set_count(table, VERIFY_CHECKED, result->n_checked);
	table_set_count(table, VERIFY_RIGHT, result->counts[VERIFIED_RIGHT]);
	table_set_count(table, VERIFY_STALE, result->counts[VERIFIED_STALE]);
	table_set_count(table, VERIFY_UNREADABLE, result->counts[VERIFIED_UNREADABLE]);
	table_set_count(table, VERIFY_WRONG, result->counts[VERIFIED_WRONG]);
	table_set_size(table, VERIFY_READ, verifier_read_bytes(verifier));
	if (result->examples->len > 0)
		table_set_text(table, VERIFY_EXAMPLES, result->examples->str);
}

static bool verify_store(const StoreEntry *entry, void *data, GError **error)
{
	Verify *verify = data;
	g_auto(Result) result = { .examples = g_string_new(NULL), .seed = g_random_int() };
	const char *uuid = hash_store_about(entry->store)->uuid;
	g_auto(Fd) fd = mount_table_open_uuid(verify->mounts, uuid);
	g_autoptr(Verifier) verifier = NULL;
	FsIdentity identity;

	if (fd < 0) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT,
			    "the filesystem %s is not mounted, or cannot be opened", uuid);
		return false;
	}
	if (!fs_identity_read(fd, &identity, error))
		return false;
	verifier = verifier_new(entry->store, fd, identity.kind, verify->rate_bytes, error);
	if (!verifier)
		return false;

	bool looked = look_at_all(verify, entry->store, verifier, &result, error);
	progress_line_end(&result.progress);
	if (!looked)
		return false;
	add_row(verify, entry, &result, verifier);
	verify->found_wrong |= result.counts[VERIFIED_WRONG] > 0;
	return true;
}

ExitStatus verb_verify(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Table) table = table_new_asked(&table_of_verify, options);
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, &error);
	Verify verify = {
		.mounts = mounts,
		.table = table,
		.percent = options->sample ? options->sample_percent : SAMPLE_USUAL,
		.rate_bytes = options->limit_rate_bytes,
	};

	if (!mounts)
		return message_fail_error(error);

	thread_priority_lower();
	ExitStatus status =
		store_list_each(options->state_directory, options->names, verify_store, &verify);
	table_print(table);
	if (verify.found_wrong)
		message_print("wrong records cost passes reads, never data, but 'duplicates' and "
			      "'unique' rely on them ('forget' drops them); if a scrub of the "
			      "filesystem finds nothing, test memory and disks");
	return verify.found_wrong ? EXIT_STATUS_FAILED : status;
}
