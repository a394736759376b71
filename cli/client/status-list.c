/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/status-list.h"

#include "cli/terminal/message.h"
#include "common/config/config.h"
#include "hashstore/database/store-files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The typed names; is_known[i]: the service knows the filesystem of typed[i]. */
typedef struct {
	char **typed;
	bool *is_known;
} Names;

static void names_clear(Names *names)
{
	g_free(names->is_known);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Names, names_clear)

/* False if there is no store, or only root may read it. */
static bool may_read(const char *directory, const char *uuid)
{
	g_autofree char *path = store_files_path(directory, uuid);

	return access(path, R_OK) == 0 || (errno != ENOENT && errno != EACCES);
}

/* Add what its store says, if there is one. */
static void add_store(StatusList *list, FilesystemStatus *status, const char *directory,
		      const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_auto(StoreEntry) entry = { 0 };

	if (!may_read(directory, status->uuid))
		return;
	list->n_stores++;
	if (store_entry_open(&entry, directory, status->uuid, &error) &&
	    filesystem_status_add_store(status, &entry, options, &error))
		return;
	/* The pass that runs may have just begun it. */
	if (g_error_matches(error, HASH_STORE_ERROR, HASH_STORE_ERROR_ABSENT))
		return;

	message_print_error(error);
	list->status = EXIT_STATUS_FAILED;
}

/* Add what the service knows.  False: it did not answer, and the reason was printed. */
static bool add_live(StatusList *list, const Names *names, const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = daemon_client_connect(&error);
	g_autoptr(GPtrArray) all = client ? daemon_client_list(client, &error) : NULL;

	list->disks = all ? daemon_client_disks(client, &error) : NULL;
	if (!list->disks) {
		message_print_error(error);
		if (client)
			list->status = EXIT_STATUS_FAILED;
		return false;
	}

	list->has_service = true;
	g_ptr_array_set_free_func(all, NULL);
	for (guint i = 0; i < all->len; i++) {
		g_autoptr(FilesystemStatus) status = filesystem_status_new_take(all->pdata[i]);
		const DaemonFilesystem *live = status->live;
		bool is_meant = daemon_filesystem_is_any(live, names->typed, names->is_known);

		if (names->typed && !is_meant)
			continue;
		add_store(list, status,
			  g_path_is_absolute(live->state_directory) ? live->state_directory
								    : options->state_directory,
			  options);
		if (is_meant || status->has_store || strcmp(live->state, "disabled") != 0)
			g_ptr_array_add(list->all, g_steal_pointer(&status));
	}

	return true;
}

static bool has(const StatusList *list, const char *uuid)
{
	for (guint i = 0; i < list->all->len; i++)
		if (strcmp(((FilesystemStatus *)list->all->pdata[i])->uuid, uuid) == 0)
			return true;
	return false;
}

/* The names that the service did not know, NULL-terminated; to be freed, without its strings. */
static char **names_left(const Names *names)
{
	char **left = g_new0(char *, names->typed ? g_strv_length(names->typed) + 1 : 1);
	size_t n = 0;

	for (size_t i = 0; names->typed && names->typed[i]; i++)
		if (!names->is_known[i])
			left[n++] = names->typed[i];
	return left;
}

/* Add filesystems that the service does not know, but that have a store. */
static void add_stored(StatusList *list, const Names *names, const Options *options)
{
	g_autofree char **left = names_left(names);
	g_autoptr(GError) error = NULL;
	g_autoptr(StoreList) stores = NULL;
	const StoreEntry *entry;

	if (names->typed && !left[0])
		return;
	stores = store_list_open(options->state_directory, names->typed ? left : NULL, &error);
	if (!stores) {
		message_print("cannot read the stores: %s", error->message);
		list->status = EXIT_STATUS_FAILED;
		return;
	}

	while ((entry = store_list_next(stores))) {
		GError *cause = NULL;
		FilesystemStatus *status;

		if (has(list, hash_store_about(entry->store)->uuid))
			continue;
		status = filesystem_status_new_stored(entry, options, &cause);
		if (status)
			g_ptr_array_add(list->all, status);
		else
			store_list_failed_take(stores, cause);
	}
	list->n_stores += store_list_count(stores);
	if (!store_list_finish(stores))
		list->status = EXIT_STATUS_FAILED;
}

static bool is_config_wrong(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Config) config = config_read_chosen(options->config, &error);

	return !config && g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_WRONG);
}

StatusList *status_list_read(const Options *options)
{
	StatusList *list = g_new0(StatusList, 1);
	g_auto(Names) names = { .typed = options->names };

	list->all = g_ptr_array_new_with_free_func((GDestroyNotify)filesystem_status_free);
	list->status = EXIT_STATUS_DONE;
	if (names.typed)
		names.is_known = g_new0(bool, g_strv_length(names.typed));
	if (!options->state_directory_is_given && !add_live(list, &names, options))
		message_print("the data comes from the stores");
	add_stored(list, &names, options);

	list->config_is_wrong = is_config_wrong(options);
	for (guint i = 0; i < list->all->len; i++)
		((FilesystemStatus *)list->all->pdata[i])->config_is_wrong = list->config_is_wrong;
	return list;
}

void status_list_free(StatusList *list)
{
	if (!list)
		return;

	g_ptr_array_unref(list->all);
	g_clear_pointer(&list->disks, g_ptr_array_unref);
	g_free(list);
}
