/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/manager/manager.h"

#include "common/config/config.h"
#include "common/events/supervisor.h"
#include "common/text/name-text.h"
#include "daemon/manager/managed-hold.h"
#include "daemon/manager/metrics-writer.h"
#include "daemon/manager/mount-monitor.h"
#include "daemon/manager/mount-search.h"
#include "daemon/settings/pass-settings.h"

#include <string.h>

struct Manager {
	/* Set at creation, never changed. */
	const Settings *settings; /* of the command line */
	char *const *arguments;
	MainLoop *loop;

	Config *config;
	DiskTable *disks;
	PassMemory *memory;
	MountMonitor *monitor;
	MountSearch *search;
	bool is_outdated;       /* mounts changed since the search began */
	MountTable *mounts;     /* as they were found last; NULL: not yet */
	GPtrArray *filesystems; /* ManagedFilesystem: all that were ever seen */
	GHashTable *by_uuid;    /* the same, borrowed */
	sd_event_source *timer;
	ManagerListener listener; /* no calls: nobody listens */
	MetricsWriter *metrics;
};

void manager_look(Manager *manager)
{
	/* Called from the loop, because the caller may be in the middle of a change. */
	sd_event_source_set_time(manager->timer, 0);
	sd_event_source_set_enabled(manager->timer, SD_EVENT_ONESHOT);
}

/* One line about the state for the supervisor (sd_notify). */
static char *status_text(const Manager *manager)
{
	size_t n_running = 0, n_waiting = 0;
	const char *running = "";

	for (size_t i = 0; i < manager->filesystems->len; i++) {
		ManagedView view = managed_filesystem_view(manager->filesystems->pdata[i]);

		n_waiting += view.state == MANAGED_WAITING;
		if (view.state != MANAGED_RUNNING && view.state != MANAGED_STOPPING)
			continue;
		n_running++;
		running = view.mount_point;
	}

	if (n_running == 1) {
		/* A line break would begin another message to the supervisor. */
		g_autofree char *name = name_text(running, strlen(running));

		return g_strdup_printf("a pass over %s", name);
	}
	if (n_running > 1)
		return g_strdup_printf("passes over %zu filesystems", n_running);
	if (n_waiting == 0)
		return g_strdup("no filesystem waits for a pass");
	return g_strdup_printf(n_waiting == 1 ? "%zu filesystem waits for a pass"
					      : "%zu filesystems wait for a pass",
			       n_waiting);
}

static void tell_supervisor(const Manager *manager)
{
	g_autofree char *status = status_text(manager);

	sd_notifyf(false, "STATUS=%s", status);
}

static void on_filesystem_changed(ManagedFilesystem *managed, void *data)
{
	Manager *manager = data;

	if (manager->listener.changed)
		manager->listener.changed(managed, manager->listener.data);
	tell_supervisor(manager);
	metrics_writer_outdate(manager->metrics);
	manager_look(manager);
}

static void on_filesystem_due(void *data)
{
	manager_look(data);
}

static FilesystemMetrics metrics_of(const ManagedView *view)
{
	bool waits = view->state == MANAGED_WAITING;

	return (FilesystemMetrics){
		.uuid = view->uuid,
		.kind = view->kind,
		.mount_point = view->mount_point,
		.state = managed_state_name(view->state),
		.wait_reason = waits ? wait_reason_name(view->waits) : "",
		.next_usec = waits ? (int64_t)managed_wall_usec(view->waits_usec) : 0,
		.last_outcome = view->has_last ? pass_outcome_name(view->last->outcome) : NULL,
		.last_started_usec = view->last->started_usec,
		.last_ended_usec = view->last->ended_usec,
		.is_disk_failing = (view->has_last && view->last->is_disk_failing) ||
				   (waits && view->waits == WAIT_DEGRADED),
	};
}

static Metrics *collect_metrics(void *data)
{
	const Manager *manager = data;
	Metrics *metrics = metrics_new(true);
	g_autoptr(GPtrArray) disks = disk_table_views(manager->disks);

	for (size_t i = 0; i < manager->filesystems->len; i++) {
		ManagedView view = managed_filesystem_view(manager->filesystems->pdata[i]);
		FilesystemMetrics filesystem = metrics_of(&view);

		metrics_add_filesystem(metrics, &filesystem);
	}
	for (size_t i = 0; i < disks->len; i++) {
		const DiskView *disk = disks->pdata[i];

		metrics_add_disk(metrics, disk->name, disk->charged_bytes);
	}

	return metrics;
}

/* Whether it waits for passes over other filesystems. */
static bool waits_for_turn(const ManagedView *view)
{
	return view->waits == WAIT_DISK_BUSY || view->waits == WAIT_MEMORY;
}

/* Look at filesystems that wait for their turn, or at all others.  Returns when to look again. */
static int64_t look_at(Manager *manager, const DiskTopology *topology, bool waiting)
{
	int64_t first_usec = SCHEDULE_NEVER;

	for (size_t i = 0; i < manager->filesystems->len; i++) {
		ManagedFilesystem *managed = manager->filesystems->pdata[i];
		ManagedView view = managed_filesystem_view(managed);

		if (waits_for_turn(&view) == waiting) {
			int64_t next_usec = managed_filesystem_look(managed, topology);

			first_usec = MIN(first_usec, next_usec);
		}
	}

	return first_usec;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	g_autoptr(DiskTopology) topology = disk_topology_new_look(disk_topology_system());
	Manager *manager = data;
	int64_t turn_usec, other_usec, next_usec;
	int failed;

	sd_event_source_set_enabled(source, SD_EVENT_OFF);
	/* Not in MIN(), which would look twice. */
	turn_usec = look_at(manager, topology, true);
	other_usec = look_at(manager, topology, false);
	next_usec = MIN(turn_usec, other_usec);

	/* Keep the time if an immediate look was requested meanwhile. */
	if (sd_event_source_get_enabled(source, NULL) > 0 || next_usec == SCHEDULE_NEVER)
		return 0;
	failed = sd_event_source_set_time(source, (uint64_t)next_usec);
	return failed < 0 ? failed : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* Give the filesystem its present settings. */
static void configure(Manager *manager, ManagedFilesystem *managed,
		      const MountedFilesystem *mounted, const DiskTopology *topology)
{
	g_auto(GStrv) names = mounted_filesystem_names(mounted, topology->links);
	g_autoptr(GError) error = NULL;
	Settings *settings;

	managed_filesystem_set_settings(managed, NULL, topology);
	if (!config_enables(manager->config, (const char *const *)names)) {
		managed_filesystem_end(managed, END_FOR_STOP);
		return;
	}

	settings = settings_new();
	if (!pass_settings_make_resident(manager->config, manager->arguments,
					 (const char *const *)names, settings, &error))
		g_warning("%s", error->message);
	else if (settings->enable == ENABLE_YES)
		managed_filesystem_set_settings(managed, settings, topology);
	else
		managed_filesystem_end(managed, END_FOR_STOP);
	settings_unref(settings);
}

ManagedFilesystem *manager_find_uuid(const Manager *manager, const char *uuid)
{
	return g_hash_table_lookup(manager->by_uuid, uuid);
}

static ManagedFilesystem *add_filesystem(Manager *manager, const char *uuid)
{
	const ManagedListener listener = { on_filesystem_changed, on_filesystem_due, manager };
	ManagedFilesystem *managed = managed_filesystem_new(uuid, manager->loop, manager->disks,
							    manager->memory, &listener);

	g_ptr_array_add(manager->filesystems, managed);
	g_hash_table_insert(manager->by_uuid, (char *)managed_filesystem_view(managed).uuid,
			    managed);
	return managed;
}

static void remove_filesystem(Manager *manager, size_t i)
{
	const ManagedFilesystem *managed = manager->filesystems->pdata[i];

	g_hash_table_remove(manager->by_uuid, managed_filesystem_view(managed).uuid);
	g_ptr_array_remove_index(manager->filesystems, (guint)i);
}

/* The part of the shown state that the mount and the configuration decide. */
static char *shown_text(const ManagedFilesystem *managed)
{
	ManagedView view = managed_filesystem_view(managed);
	const char *directory = managed_filesystem_state_directory(managed);
	g_autofree char *disks = view.disk_names ? g_strjoinv(",", (char **)view.disk_names) : NULL;

	return g_strdup_printf("%d %s %s %s %s", view.state, view.mount_point, view.refusal,
			       disks ? disks : "", directory ? directory : "");
}

/* Take the present mount and settings of a filesystem; NULL: it is unmounted. */
static void update(Manager *manager, ManagedFilesystem *managed, const MountedFilesystem *mounted,
		   const DiskTopology *topology)
{
	g_autofree char *before = shown_text(managed);
	g_autofree char *after = NULL;

	managed_filesystem_set_mounted(managed, mounted);
	if (mounted)
		configure(manager, managed, mounted, topology);
	after = shown_text(managed);
	if (strcmp(before, after) != 0 && manager->listener.changed)
		manager->listener.changed(managed, manager->listener.data);
}

/* Drop filesystems that are not mounted, unless they are enabled and may come back. */
static void drop_unmounted(Manager *manager, const MountTable *mounts)
{
	for (size_t i = manager->filesystems->len; i > 0; i--) {
		ManagedFilesystem *managed = manager->filesystems->pdata[i - 1];

		if (mount_table_find_uuid(mounts, managed_filesystem_view(managed).uuid))
			continue;
		update(manager, managed, NULL, NULL);
		/* A pass may still run after a lazy unmount: freeing the filesystem would wait for it. */
		if (!managed_filesystem_is_enabled(managed) &&
		    managed_holds_count(managed_filesystem_holds(managed)) == 0 &&
		    managed_filesystem_view(managed).state == MANAGED_UNMOUNTED)
			remove_filesystem(manager, i - 1);
	}
}

static void tell_of_copy(const MountTable *mounts, const MountedFilesystem *mounted)
{
	const MountedFilesystem *other = mount_table_find_twin(mounts, mounted);

	if (other && fs_identity_is_copy(&mounted->identity))
		g_message("%s is a copy of what is mounted on %s: it is known by the UUID %s",
			  ((const MountPoint *)mounted->mount_points->pdata[0])->target,
			  ((const MountPoint *)other->mount_points->pdata[0])->target,
			  mounted->uuid);
}

/* Add the filesystem, or log why it is refused. */
static void take_mounted(Manager *manager, const MountTable *mounts,
			 const MountedFilesystem *mounted, const DiskTopology *topology)
{
	ManagedFilesystem *managed = manager_find_uuid(manager, mounted->uuid);

	/* A second filesystem with the same UUID is refused. */
	if (mounted->uuid[0] == '\0' || mount_table_find_uuid(mounts, mounted->uuid) != mounted) {
		if (!manager->mounts || !mount_table_has(manager->mounts, mounted))
			g_warning("%s", mounted->refusal);
		return;
	}
	if (!managed) {
		managed = add_filesystem(manager, mounted->uuid);
		tell_of_copy(mounts, mounted);
	}
	update(manager, managed, mounted, topology);
}

static void look_at_mounts(void *data)
{
	Manager *manager = data;
	g_autoptr(GError) error = NULL;

	manager->is_outdated = mount_search_runs(manager->search);
	if (!manager->is_outdated &&
	    !mount_search_start(manager->search, NULL, manager->mounts, &error))
		g_warning("%s", error->message);
}

/* Update all mounted filesystems and their settings. */
static void take_mounts(Manager *manager, const MountTable *mounts)
{
	g_autoptr(DiskTopology) topology = disk_topology_new_look(disk_topology_system());
	const GPtrArray *all = mount_table_filesystems(mounts);

	for (size_t i = 0; i < all->len; i++)
		take_mounted(manager, mounts, all->pdata[i], topology);
	drop_unmounted(manager, mounts);
	if (manager->listener.list_changed)
		manager->listener.list_changed(manager->listener.data);
	tell_supervisor(manager);
	metrics_writer_outdate(manager->metrics);
	manager_look(manager);
}

static void on_mounts_found(MountTable *mounts, void *data)
{
	Manager *manager = data;

	take_mounts(manager, mounts);
	g_clear_pointer(&manager->mounts, mount_table_free);
	manager->mounts = mounts;
	if (manager->is_outdated)
		look_at_mounts(manager);
}

/* Find mounts before callers can ask for them.  An unresponsive one is soon left out. */
static bool find_mounts(Manager *manager, GError **error)
{
	const MountSearchListener listener = { on_mounts_found, look_at_mounts, manager };
	int failed = 0;

	manager->search = mount_search_new(manager->loop, NULL, &listener);
	if (!mount_search_start(manager->search, NULL, NULL, error))
		return false;

	while (!manager->mounts && failed >= 0)
		failed = sd_event_run(manager->loop->event, UINT64_MAX);
	return failed >= 0 || main_loop_failed(failed, "wait for what is mounted", error);
}

static bool configure_metrics(Manager *manager, GError **error)
{
	static const char *const no_names[] = { NULL };
	g_auto(Settings) settings = { 0 };

	if (!pass_settings_make_resident(manager->config, manager->arguments, no_names, &settings,
					 error))
		return false;

	metrics_writer_set_file(manager->metrics, settings.metrics_file, settings.state_directory);
	return true;
}

static Manager *manager_make(const Settings *settings, Config *config, char *const *arguments,
			     MainLoop *loop)
{
	Manager *manager = g_new0(Manager, 1);

	manager->settings = settings;
	manager->config = config;
	manager->arguments = arguments;
	manager->disks = disk_table_new();
	manager->memory = pass_memory_new("/");
	disk_table_configure(manager->disks, config, settings);
	manager->loop = loop;
	manager->by_uuid = g_hash_table_new(g_str_hash, g_str_equal);
	manager->filesystems =
		g_ptr_array_new_with_free_func((GDestroyNotify)managed_filesystem_free);
	return manager;
}

static bool add_timer(Manager *manager, GError **error)
{
	int failed = sd_event_add_time(manager->loop->event, &manager->timer, CLOCK_MONOTONIC, 0, 0,
				       on_timer, manager);

	return failed >= 0 || main_loop_failed(failed, "set a timer", error);
}

Manager *manager_new(const Settings *settings, Config *config, char *const *arguments,
		     MainLoop *loop, GError **error)
{
	g_autoptr(Manager) manager = manager_make(settings, config, arguments, loop);

	manager->metrics = metrics_writer_new(loop, collect_metrics, manager, error);
	if (!manager->metrics || !add_timer(manager, error))
		return NULL;

	manager->monitor = mount_monitor_new(loop->event, look_at_mounts, manager, error);
	if (!manager->monitor || !find_mounts(manager, error) || !configure_metrics(manager, error))
		return NULL;

	return g_steal_pointer(&manager);
}

void manager_listen(Manager *manager, const ManagerListener *listener)
{
	manager->listener = *listener;
}

void manager_end(Manager *manager)
{
	for (size_t i = 0; i < manager->filesystems->len; i++)
		managed_filesystem_end(manager->filesystems->pdata[i], END_FOR_SERVICE);
	manager->listener = (ManagerListener){ 0 };
}

void manager_free(Manager *manager)
{
	if (!manager)
		return;

	/* All passes end at the same time; then wait for each. */
	manager_end(manager);
	g_hash_table_unref(manager->by_uuid);
	g_ptr_array_unref(manager->filesystems);
	metrics_writer_end(manager->metrics);
	metrics_writer_free(manager->metrics);
	disk_table_free(manager->disks);
	pass_memory_free(manager->memory);
	mount_monitor_free(manager->monitor);
	mount_search_free(manager->search);
	mount_table_free(manager->mounts);
	sd_event_source_unref(manager->timer);
	config_free(manager->config);
	g_free(manager);
}

bool manager_reload(Manager *manager, GError **error)
{
	g_autoptr(Config) config = NULL;

	sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
	config = config_read_chosen(manager->settings->config, error);
	sd_notify(false, "READY=1");
	if (!config)
		return false;

	disk_table_configure(manager->disks, config, manager->settings);
	config_free(manager->config);
	manager->config = g_steal_pointer(&config);
	g_message("read the configuration anew");
	take_mounts(manager, manager->mounts);
	look_at_mounts(manager);
	return configure_metrics(manager, error);
}

DiskTable *manager_disks(const Manager *manager)
{
	return manager->disks;
}

const GPtrArray *manager_filesystems(const Manager *manager)
{
	return manager->filesystems;
}

ManagedFilesystem *manager_find(const Manager *manager, const char *name)
{
	g_autofree char *plain = config_name_of_filesystem(name);
	const MountedFilesystem *mounted =
		plain ? mount_table_find_name(manager->mounts, plain) : NULL;

	return manager_find_uuid(manager, mounted ? mounted->uuid : plain ? plain : name);
}
