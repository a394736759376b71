/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/mounts-with-timeout.h"
#include "cli/arguments/unmounted-devices.h"
#include "cli/client/daemon-client.h"
#include "cli/client/disk-limits.h"
#include "cli/client/filesystem-status.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/mounts/mount-table.h"

#include <stdlib.h>
#include <string.h>

#define LIST_COLUMNS(COLUMN)                                                                       \
	COLUMN(LIST_MOUNT, "MOUNT", "mount_point", COLUMN_TEXT)                                    \
	COLUMN(LIST_KIND, "KIND", "kind", COLUMN_TEXT)                                             \
	COLUMN(LIST_STATE, "STATE", "state", COLUMN_TEXT)                                          \
	COLUMN(LIST_ELIGIBLE, "ELIGIBLE", "eligible", COLUMN_TEXT)                                 \
	COLUMN(LIST_ENABLED, "ENABLED", "enabled", COLUMN_TEXT)                                    \
	COLUMN(LIST_WHY, "WHY", "why", COLUMN_TEXT_CUT)                                            \
	COLUMN(LIST_NEXT, "UNTIL", "until", COLUMN_TEXT)                                           \
	COLUMN(LIST_PASSES, NULL, "passes", COLUMN_NUMBER)                                         \
	COLUMN(LIST_LAST_STARTED, NULL, "last_pass", COLUMN_TEXT)                                  \
	COLUMN(LIST_LAST_OUTCOME, NULL, "last_outcome", COLUMN_TEXT)                               \
	COLUMN(LIST_LAST_FREED, "LAST FREED", "last_freed_bytes", COLUMN_NUMBER)                   \
	COLUMN(LIST_FREED, "THIS RUN", "freed_bytes", COLUMN_NUMBER)                               \
	COLUMN(LIST_STAGE, NULL, "stage", COLUMN_TEXT)                                             \
	COLUMN(LIST_STAGE_BYTES, NULL, "stage_bytes", COLUMN_NUMBER)                               \
	COLUMN(LIST_STAGE_TOTAL_BYTES, NULL, "stage_total_bytes", COLUMN_NUMBER)                   \
	COLUMN(LIST_LIMITS, "DISKS", "disk_limits", COLUMN_TEXT_CUT)                               \
	COLUMN(LIST_DISKS, NULL, "disks", COLUMN_TABLE)                                            \
	COLUMN(LIST_UUID, "UUID", "uuid", COLUMN_TEXT_CUT)

TABLE_COLUMNS(columns, LIST_COLUMNS);

const TableKind table_of_list = { "filesystems", columns, G_N_ELEMENTS(columns), "dedupctl-list",
				  1 };

/* The default columns in text, with the service and without. */
static const uint8_t of_mounts[] = { LIST_ELIGIBLE, LIST_ENABLED };
static const uint8_t of_service[] = { LIST_STATE, LIST_NEXT, LIST_LAST_FREED, LIST_FREED };

/* The data of the verb, which owns all of it. */
typedef struct {
	const Options *options;
	bool has_service;
	GPtrArray *all;     /* DaemonFilesystem; NULL: there is no service */
	GPtrArray *disks;   /* DaemonDisk; the same */
	MountTable *mounts; /* NULL: they cannot be read */
	Config *config;     /* NULL: it is faulty */
	DiskTopology *topology;
	GHashTable *known; /* the mount points of @all (char *), borrowed */
	bool *is_found;    /* of the names */
	Table *table;
} Listing;

static void listing_clear(Listing *listing)
{
	g_clear_pointer(&listing->all, g_ptr_array_unref);
	g_clear_pointer(&listing->disks, g_ptr_array_unref);
	mount_table_free(listing->mounts);
	config_free(listing->config);
	disk_topology_free(listing->topology);
	g_clear_pointer(&listing->known, g_hash_table_unref);
	g_free(listing->is_found);
	table_free(listing->table);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Listing, listing_clear)

/* Whether to show the filesystem with @names, which are NULL-terminated. */
static bool is_wanted(const Listing *listing, const char *const *names)
{
	char *const *asked = listing->options->names;
	bool is_wanted = !asked;

	for (size_t i = 0; asked && asked[i]; i++) {
		g_autofree char *name = config_name_of_filesystem(asked[i]);
		g_autofree char *real = realpath(asked[i], NULL);

		if ((name && g_strv_contains(names, name)) ||
		    (real && g_strv_contains(names, real))) {
			listing->is_found[i] = true;
			is_wanted = true;
		}
	}

	return is_wanted;
}

static bool is_live_wanted(const Listing *listing, const DaemonFilesystem *live)
{
	const char *const names[] = { live->uuid, live->mount_point, NULL };
	bool is_called = daemon_filesystem_is_any(live, listing->options->names, listing->is_found);

	return is_wanted(listing, names) || is_called;
}

static void set_disks(const Listing *listing, const GPtrArray *disks)
{
	g_autoptr(Table) table = disk_limits_table(disks, listing->options);
	g_autofree char *text = disk_limits_text(disks, listing->options->bytes);

	table_set_text(listing->table, LIST_LIMITS, text);
	table_set_table(listing->table, LIST_DISKS, table);
}

static void set_eligible(Table *table, const char *refusal, const char *enabled)
{
	table_set_text(table, LIST_ELIGIBLE, refusal ? "no" : "yes");
	table_set_text(table, LIST_ENABLED, enabled);
}

/* The command that would enable it: 'enable' is refused if the configuration is wrong. */
static char *how_to_enable(const Listing *listing, const char *mount_point)
{
	g_autofree char *name = message_text(mount_point);

	if (!listing->config)
		return g_strdup_printf("%s: the configuration is wrong ('dedupctl config --check')",
				       listing->has_service ? "not enabled" : "unknown");
	return g_strdup_printf("not enabled: 'dedupctl enable %s' enables it", name);
}

static void set_live(Table *table, const DaemonFilesystem *live)
{
	uint64_t until_usec = live->waits_until_usec ? live->waits_until_usec : live->deadline_usec;

	table_set_text(table, LIST_STATE, live->state);
	table_set_count(table, LIST_PASSES, live->passes);
	table_set_size(table, LIST_FREED, live->freed_bytes);
	if (until_usec > 0)
		table_set_time(table, LIST_NEXT, (int64_t)until_usec);
	if (live->stage[0] != '\0') {
		table_set_text(table, LIST_STAGE, live->stage);
		table_set_size(table, LIST_STAGE_BYTES, live->stage_bytes);
		table_set_size(table, LIST_STAGE_TOTAL_BYTES, live->stage_total_bytes);
	}
	if (live->last_outcome[0] == '\0')
		return;

	table_set_time(table, LIST_LAST_STARTED, (int64_t)live->last_started_usec);
	table_set_text(table, LIST_LAST_OUTCOME, live->last_outcome);
	table_set_size(table, LIST_LAST_FREED, live->last_freed_bytes);
}

/* Add a filesystem that the service knows. */
static void add_live(const Listing *listing, const DaemonFilesystem *live)
{
	const MountedFilesystem *mounted =
		listing->mounts ? mount_table_find_uuid(listing->mounts, live->uuid) : NULL;
	bool is_enabled = live->state_directory[0] != '\0';
	g_autofree char *why = filesystem_why_text(live);
	g_autoptr(GPtrArray) disks = is_enabled || !mounted
					     ? disk_limits_named(listing->disks, live->disks)
					     : disk_limits_below(listing->disks, listing->config,
								 listing->topology, mounted);

	table_add_row(listing->table);
	table_set_escaped(listing->table, LIST_MOUNT, live->mount_point);
	table_set_text(listing->table, LIST_KIND, live->kind);
	table_set_text(listing->table, LIST_UUID, live->uuid);
	set_eligible(listing->table, live->refusal[0] != '\0' ? live->refusal : NULL,
		     is_enabled ? "yes" : "no");
	set_live(listing->table, live);
	set_disks(listing, disks);
	if (why[0] == '\0' && strcmp(live->state, "disabled") == 0) {
		g_free(why);
		why = how_to_enable(listing, live->mount_point);
	}
	table_set_text(listing->table, LIST_WHY, why);
}

/* Add a mounted filesystem that the service does not list. */
static void add_mounted(const Listing *listing, const MountedFilesystem *mounted)
{
	const MountPoint *first = mounted->mount_points->pdata[0];
	g_auto(GStrv) ways = mounted_filesystem_ways(mounted);
	g_auto(GStrv) names = mounted_filesystem_names(mounted, listing->topology->links);
	const char *target = ways[0] ? ways[0] : first->target;
	bool is_enabled =
		listing->config && config_enables(listing->config, (const char *const *)names);
	g_autofree char *why = mounted->refusal ? message_text(mounted->refusal)
			       : is_enabled     ? NULL
						: how_to_enable(listing, target);
	g_autoptr(GPtrArray) disks =
		disk_limits_below(listing->disks, listing->config, listing->topology, mounted);

	table_add_row(listing->table);
	table_set_escaped(listing->table, LIST_MOUNT, target);
	table_set_text(listing->table, LIST_KIND,
		       strcmp(mounted->type, "xfs") == 0 ? "XFS" : mounted->type);
	table_set_text(listing->table, LIST_UUID, mounted->uuid[0] != '\0' ? mounted->uuid : NULL);
	set_eligible(listing->table, mounted->refusal,
		     !listing->config ? NULL
		     : is_enabled     ? "yes"
				      : "no");
	table_set_text(listing->table, LIST_WHY, why);
	set_disks(listing, disks);
}

/* The devices of one filesystem are one row, which the first of them stands for. */
static bool is_first(const GPtrArray *devices, guint i)
{
	const UnmountedDevice *device = devices->pdata[i];
	g_auto(GStrv) all = unmounted_devices_with(devices, device->uuid);

	return strcmp(all[0], device->path) == 0;
}

/* Whether the service has a row for it already.  If that is mounted, this is a copy. */
static bool is_live(const Listing *listing, const char *uuid)
{
	for (guint i = 0; listing->all && i < listing->all->len; i++) {
		const DaemonFilesystem *live = listing->all->pdata[i];

		if (strcmp(live->uuid, uuid) == 0)
			return strcmp(live->state, "unmounted") == 0;
	}
	return false;
}

static char *why_unmounted(const UnmountedDevice *device, char *const *paths)
{
	g_autofree char *all = g_strjoinv(", ", (char **)paths);
	g_autofree char *label = message_text(device->label);

	return g_strdup_printf("not mounted: %s%s%s; 'dedupctl doctor %s' describes it", all,
			       label[0] != '\0' ? ", label " : "", label, device->path);
}

/* Add a filesystem that nobody has mounted. */
static void add_unmounted(const Listing *listing, const GPtrArray *devices, guint i)
{
	const UnmountedDevice *device = devices->pdata[i];
	g_auto(GStrv) paths = unmounted_devices_with(devices, device->uuid);
	g_auto(GStrv) names = unmounted_device_names(devices, device);
	const char *const *known = (const char *const *)names;
	g_autofree char *why = why_unmounted(device, paths);
	g_autoptr(GPtrArray) none = g_ptr_array_new();

	if (!is_first(devices, i) || is_live(listing, device->uuid) || !is_wanted(listing, known))
		return;

	table_add_row(listing->table);
	table_set_text(listing->table, LIST_KIND,
		       strcmp(device->type, "xfs") == 0 ? "XFS" : device->type);
	table_set_text(listing->table, LIST_UUID, device->uuid);
	set_eligible(listing->table, why,
		     !listing->config                         ? NULL
		     : config_enables(listing->config, known) ? "yes"
							      : "no");
	table_set_text(listing->table, LIST_WHY, why);
	set_disks(listing, none);
}

/* Whether the service knows the filesystem that is mounted there, even if the caller may not query it. */
static bool is_known(const Listing *listing, char *const *names)
{
	for (; *names; names++) {
		g_autofree char *shown = daemon_filesystem_mount_text(*names);

		if (g_hash_table_contains(listing->known, shown))
			return true;
	}

	return false;
}

/* Whether all names are found, so that devices need not be read. */
static bool names_no_more(const Listing *listing)
{
	char *const *names = listing->options->names;
	guint n_found = 0;

	for (guint i = 0; names && names[i]; i++)
		n_found += listing->is_found[i];
	return names && n_found == g_strv_length((char **)names);
}

static void add_rows(const Listing *listing)
{
	const GPtrArray *mounted =
		listing->mounts ? mount_table_filesystems(listing->mounts) : NULL;

	for (guint i = 0; listing->all && i < listing->all->len; i++) {
		const DaemonFilesystem *live = listing->all->pdata[i];

		if (is_live_wanted(listing, live))
			add_live(listing, live);
	}
	for (guint i = 0; mounted && i < mounted->len; i++) {
		const MountedFilesystem *filesystem = mounted->pdata[i];
		g_auto(GStrv) names =
			mounted_filesystem_names(filesystem, listing->topology->links);

		if (!is_known(listing, names) && is_wanted(listing, (const char *const *)names))
			add_mounted(listing, filesystem);
	}
	if (names_no_more(listing))
		return;

	g_autoptr(GPtrArray) devices = unmounted_devices_find();
	for (guint i = 0; i < devices->len; i++)
		add_unmounted(listing, devices, i);
}

static Table *new_table(const Listing *listing)
{
	const uint8_t *hidden = listing->has_service ? of_mounts : of_service;
	size_t n_hidden = listing->has_service ? G_N_ELEMENTS(of_mounts) : G_N_ELEMENTS(of_service);

	return table_new_hiding(&table_of_list, listing->options, hidden, n_hidden);
}

/* Report names that match no filesystem.  Returns whether all matched. */
static bool all_were_found(const Listing *listing)
{
	char *const *names = listing->options->names;
	bool found_all = true;

	for (size_t i = 0; names && names[i]; i++) {
		if (listing->is_found[i])
			continue;
		message_print("no mounted btrfs or XFS filesystem has the UUID or mount point %s",
			      names[i]);
		found_all = false;
	}

	return found_all;
}

/* Ask the service.  Returns the exit status if all else succeeds. */
static ExitStatus ask(Listing *listing)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(DaemonClient) client = daemon_client_connect(&error);

	listing->all = client ? daemon_client_list(client, &error) : NULL;
	listing->disks = listing->all ? daemon_client_disks(client, &error) : NULL;
	listing->has_service = listing->disks;
	if (listing->has_service)
		return EXIT_STATUS_DONE;

	message_print_lines(error->message);
	message_print("the table shows the mounted filesystems and their configuration");
	g_clear_pointer(&listing->all, g_ptr_array_unref);
	return client ? EXIT_STATUS_FAILED : EXIT_STATUS_NEEDS_DAEMON;
}

/* Read the mounts and the configuration.  Returns false if that failed, and reports it. */
static bool look(Listing *listing)
{
	g_autoptr(GError) error = NULL;

	listing->mounts = mounts_with_timeout_read(&error);
	if (!listing->mounts) {
		message_print_lines(error->message);
		return false;
	}
	listing->config = config_read_chosen(listing->options->config, &error);
	/* The service keeps its present configuration. */
	if (!listing->config && !listing->has_service)
		message_print_lines(error->message);
	return listing->config || listing->has_service;
}

/* The mount points of the service's filesystems; @all may be NULL. */
static GHashTable *mount_points_of(const GPtrArray *all)
{
	GHashTable *mount_points = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; all && i < all->len; i++)
		g_hash_table_add(mount_points, ((DaemonFilesystem *)all->pdata[i])->mount_point);
	return mount_points;
}

ExitStatus verb_list(const Options *options)
{
	g_auto(Listing) listing = { .options = options };
	ExitStatus status = ask(&listing);

	listing.topology = disk_topology_new_look(disk_topology_system());
	listing.known = mount_points_of(listing.all);
	if (!look(&listing))
		status = EXIT_STATUS_FAILED;
	if (options->names)
		listing.is_found = g_new0(bool, g_strv_length(options->names));
	listing.table = new_table(&listing);
	add_rows(&listing);
	table_print(listing.table);

	return all_were_found(&listing) ? status : EXIT_STATUS_FAILED;
}
