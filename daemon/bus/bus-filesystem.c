/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/memfd.h"
#include "common/text/name-text.h"
#include "daemon/bus/bus-objects.h"
#include "daemon/manager/manager.h"
#include "daemon/report/pass-status.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <string.h>

static void show_progress(BusFilesystem *shown, const ManagedView *view)
{
	const Progress *progress = view->progress;

	shown->stage = "";
	if (!progress)
		return;

	shown->stage = stage_name(atomic_load(&progress->stage));
	shown->pass_started_usec = (uint64_t)view->begun_usec;
	shown->stage_started_usec = managed_wall_usec(atomic_load(&progress->stage_started_usec));
	shown->stage_files = atomic_load(&progress->files);
	shown->stage_bytes = atomic_load(&progress->done_bytes);
	shown->stage_total_bytes = atomic_load(&progress->total_bytes);
	shown->pass_freed_bytes = atomic_load(&progress->freed_bytes);
	shown->deadline_usec = managed_wall_usec(view->deadline_usec);
}

/* Replaces the text of an error, which may name files. */
#define ERROR_WITHOUT_NAMES "an error, which the journal and the report name"

static void show_last(BusFilesystem *shown, const ManagedView *view, bool may_inspect)
{
	const PassResult *last = view->last;

	shown->last_outcome = "";
	shown->last_error = "";
	if (!view->has_last)
		return;

	shown->last_outcome = pass_outcome_name(last->outcome);
	if (last->error && !may_inspect)
		shown->last_error = ERROR_WITHOUT_NAMES;
	else if (pass_result_trouble(last))
		shown->last_error = pass_result_trouble(last);
	shown->last_exit_status = pass_exit_status(last);
	shown->last_started_usec = (uint64_t)last->started_usec;
	shown->last_ended_usec = (uint64_t)last->ended_usec;
	shown->last_freed_bytes = last->freed.bytes;
	shown->last_shared_bytes = last->shared.bytes;
	shown->last_read_bytes = last->disk_bytes;
}

/*
 * The reason to wait.  After an error its text has that error, and during a hold the holders: both may name files.
 */
static const char *waits_for(const ManagedView *view, bool may_inspect)
{
	bool has_names = (view->waits == WAIT_RETRY || view->waits == WAIT_ON_HOLD) &&
			 view->waits_for[0] != '\0' && !may_inspect;

	return has_names ? wait_reason_text(view->waits) : view->waits_for;
}

static void show(BusFilesystem *shown, Bus *bus, ManagedFilesystem *managed, bool may_inspect)
{
	static char *const none[] = { NULL };
	ManagedView view = managed_filesystem_view(managed);
	const char *directory = managed_filesystem_state_directory(managed);

	*shown = (BusFilesystem){
		.bus = bus,
		.managed = managed,
		.uuid = view.uuid,
		.kind = view.kind,
		.mount_point = view.mount_point,
		.state = managed_state_name(view.state),
		.refusal = view.refusal,
		.waits_for = waits_for(&view, may_inspect),
		.wait_reason = "",
		.disks = view.disk_names ? view.disk_names : none,
		.state_directory = directory ? directory : "",
		.is_paused = view.is_paused,
		.is_asked = view.is_asked,
		.may_inspect = may_inspect,
		.passes = view.n_passes,
		.freed_bytes = view.freed_bytes,
		.read_bytes = view.read_bytes,
	};
	if (view.state == MANAGED_WAITING) {
		shown->wait_reason = wait_reason_name(view.waits);
		shown->waits_until_usec = managed_wall_usec(view.waits_usec);
	}
	show_progress(shown, &view);
	show_last(shown, &view, may_inspect);
}

/* The filesystem of the object at @path; NULL: none. */
static ManagedFilesystem *managed_at(const Bus *bus, const char *path)
{
	g_autofree char *uuid = NULL;

	if (!g_str_has_prefix(path, BUS_FILESYSTEM_PREFIX "/"))
		return NULL;

	uuid = g_strdelimit(g_strdup(path + strlen(BUS_FILESYSTEM_PREFIX "/")), "_", '-');
	return manager_find_uuid(bus_manager(bus), uuid);
}

int bus_filesystem_find(sd_bus *connection, const char *path, const char *interface, void *data,
			void **ret_found, sd_bus_error *error)
{
	Bus *bus = data;
	BusCaller caller = bus_caller(bus, connection);
	ManagedFilesystem *managed = managed_at(bus, path);

	if (!managed)
		return 0;

	/* On the system bus the caller is not known yet, and changes go to everybody. */
	show(bus_shown(bus), bus, managed, bus_access_is_trusted(&caller));
	*ret_found = bus_shown(bus);
	return 1;
}

int bus_filesystem_list(sd_bus *connection, const char *prefix, void *data, char ***ret_nodes,
			sd_bus_error *error)
{
	const GPtrArray *all = manager_filesystems(bus_manager(data));
	/* sd-bus frees them with free(), like g_free(). */
	char **nodes = g_new0(char *, all->len + 1);

	for (size_t i = 0; i < all->len; i++)
		nodes[i] = bus_filesystem_path(managed_filesystem_view(all->pdata[i]).uuid);

	*ret_nodes = nodes;
	return 0;
}

/* Reply that the method was done. */
static int done(const Bus *bus, sd_bus_message *message)
{
	manager_look(bus_manager(bus));
	return sd_bus_reply_method_return(message, "");
}

static int start(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed, sd_bus_error *error)
{
	g_autoptr(GError) failure = NULL;

	return managed_filesystem_start(managed, &failure) ? done(bus, message)
							   : bus_reply_failure(message, failure);
}

/* Paths are bytes, but strings of the bus are UTF-8. */
static int read_paths(sd_bus_message *message, char ***ret)
{
	g_autoptr(GStrvBuilder) paths = g_strv_builder_new();
	int failed = sd_bus_message_enter_container(message, SD_BUS_TYPE_ARRAY, "ay");

	while (failed >= 0 && sd_bus_message_at_end(message, false) == 0) {
		const void *bytes;
		size_t n_bytes;

		failed = sd_bus_message_read_array(message, SD_BUS_TYPE_BYTE, &bytes, &n_bytes);
		if (failed < 0)
			break;
		if (n_bytes == 0 || memchr(bytes, 0, n_bytes))
			return -EINVAL;

		g_autofree char *path = g_strndup(bytes, n_bytes);
		g_strv_builder_add(paths, path);
	}
	if (failed >= 0)
		failed = sd_bus_message_exit_container(message);

	*ret = g_strv_builder_end(paths);
	return failed;
}

/* If the connection is closed by now, nobody is told. */
static void answer_run(const GError *failure, void *data)
{
	sd_bus_message *message = data;

	if (failure)
		bus_reply_failure(message, failure);
	else
		sd_bus_reply_method_return(message, "");
	sd_bus_message_unref(message);
}

static int run(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed, sd_bus_error *error)
{
	char *none[] = { NULL };
	g_auto(GStrv) paths = NULL;
	g_auto(GStrv) wishes = NULL;
	int failed = read_paths(message, &paths);

	if (failed >= 0)
		failed = sd_bus_message_read_strv(message, &wishes);
	if (failed < 0)
		return failed;

	/* An empty array comes as NULL. */
	managed_filesystem_run(managed, paths, wishes ? wishes : none, answer_run,
			       sd_bus_message_ref(message));
	return 1;
}

static int stop(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed, sd_bus_error *error)
{
	managed_filesystem_end(managed, END_FOR_STOP);
	return done(bus, message);
}

static int pause_until_resumed(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
			       sd_bus_error *error)
{
	managed_filesystem_pause(managed, 0);
	return done(bus, message);
}

static int pause_for(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		     sd_bus_error *error)
{
	uint64_t usec;
	int failed = sd_bus_message_read(message, "t", &usec);

	if (failed < 0)
		return failed;
	if (usec == 0)
		return sd_bus_error_set(error, BUS_ERROR_UNSUITABLE, "the pause has no length");

	managed_filesystem_pause(managed, usec);
	return done(bus, message);
}

static int resume(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		  sd_bus_error *error)
{
	managed_filesystem_resume(managed);
	return done(bus, message);
}

static int forget(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		  sd_bus_error *error)
{
	g_autoptr(GError) failure = NULL;

	return managed_filesystem_forget(managed, &failure) ? done(bus, message)
							    : bus_reply_failure(message, failure);
}

static int get_report(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		      sd_bus_error *error)
{
	g_auto(Fd) fd = -1;

	if (managed_filesystem_report_fd(managed) < 0)
		return sd_bus_error_set(error, BUS_ERROR_UNSUITABLE,
					"no pass has ended since the service began");

	fd = memfd_reopen(managed_filesystem_report_fd(managed));
	return fd < 0 ? fd : sd_bus_reply_method_return(message, "h", fd);
}

/* Have a thread read the answer from the store, and reply. */
static int ask_store(Bus *bus, sd_bus_message *message, const ManagedFilesystem *managed,
		     StoreQueryKind kind, sd_bus_error *error)
{
	BusCaller caller = bus_caller(bus, sd_bus_message_get_bus(message));
	BusQuery query = {
		.directory = managed_filesystem_state_directory(managed),
		.uuid = managed_filesystem_view(managed).uuid,
		.kind = kind,
		.is_trusted = bus_access_is_trusted(&caller),
	};

	if (!query.directory)
		return sd_bus_error_set(error, BUS_ERROR_UNSUITABLE,
					"the filesystem is not enabled");

	return bus_queries_ask(bus_queries(bus), message, &query, error);
}

static int get_history(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		       sd_bus_error *error)
{
	return ask_store(bus, message, managed, STORE_QUERY_HISTORY, error);
}

static int get_skipped(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		       sd_bus_error *error)
{
	return ask_store(bus, message, managed, STORE_QUERY_SKIPPED, error);
}

static int get_skipped_totals(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
			      sd_bus_error *error)
{
	return ask_store(bus, message, managed, STORE_QUERY_SKIPPED_TOTALS, error);
}

/* A method of the interface: who may call it, and what it does. */
typedef struct {
	const char *name;
	AccessLevel level;
	int (*act)(Bus *bus, sd_bus_message *message, ManagedFilesystem *managed,
		   sd_bus_error *error);
} Method;

static const Method methods[] = {
	{ "Start", ACCESS_CONTROL, start },
	{ "Run", ACCESS_CONTROL, run },
	{ "Stop", ACCESS_CONTROL, stop },
	{ "Pause", ACCESS_CONTROL, pause_until_resumed },
	{ "PauseFor", ACCESS_CONTROL, pause_for },
	{ "Resume", ACCESS_CONTROL, resume },
	{ "Hold", ACCESS_CONTROL, bus_hold_take },
	{ "Forget", ACCESS_CONTROL, forget },
	{ "GetReport", ACCESS_INSPECT, get_report },
	{ "GetHistory", ACCESS_TOTALS, get_history },
	{ "GetSkipped", ACCESS_INSPECT, get_skipped },
	{ "GetSkippedTotals", ACCESS_TOTALS, get_skipped_totals },
};

/* sd-bus passes on methods of the vtable alone. */
static const Method *method_of(sd_bus_message *message)
{
	const char *name = sd_bus_message_get_member(message);

	for (size_t i = 0; i < G_N_ELEMENTS(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];

	g_assert_not_reached();
}

static int act(sd_bus_message *message, void *bus, sd_bus_error *error)
{
	ManagedFilesystem *managed = managed_at(bus, sd_bus_message_get_path(message));

	/* It may be gone since the message came. */
	if (!managed)
		return sd_bus_error_set(error, BUS_ERROR_UNKNOWN, "the filesystem is gone");

	return method_of(message)->act(bus, message, managed, error);
}

static int on_method(sd_bus_message *message, void *data, sd_bus_error *error)
{
	const BusFilesystem *shown = data;

	return bus_authorize(shown->bus, message, method_of(message)->level, act, error);
}

char *bus_text(const char *raw)
{
	return g_utf8_validate(raw, -1, NULL) ? g_strdup(raw) : name_text(raw, strlen(raw));
}

/* A mount point, or a text about it, may have any bytes. */
static int get_text(sd_bus *connection, const char *path, const char *interface,
		    const char *property, sd_bus_message *reply, void *data, sd_bus_error *error)
{
	const char *const *raw = data;
	g_autofree char *text = bus_text(*raw ? *raw : "");

	return sd_bus_message_append(reply, "s", text);
}

#define FIXED(name, type, member)                                                                  \
	SD_BUS_PROPERTY(name, type, NULL, offsetof(BusFilesystem, member),                         \
			SD_BUS_VTABLE_PROPERTY_CONST)
#define TEXT(name, member)                                                                         \
	SD_BUS_PROPERTY(name, "s", get_text, offsetof(BusFilesystem, member),                      \
			SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
#define CHANGING(name, type, member)                                                               \
	SD_BUS_PROPERTY(name, type, NULL, offsetof(BusFilesystem, member),                         \
			SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE)
#define METHOD(name, results)                                                                      \
	SD_BUS_METHOD(name, "", results, on_method, SD_BUS_VTABLE_UNPRIVILEGED)

static const sd_bus_vtable vtable[] = {
	SD_BUS_VTABLE_START(0),
	FIXED("UUID", "s", uuid),
	TEXT("Kind", kind),
	TEXT("MountPoint", mount_point),
	TEXT("State", state),
	TEXT("Refusal", refusal),
	CHANGING("Paused", "b", is_paused),
	CHANGING("Asked", "b", is_asked),
	SD_BUS_PROPERTY("Holds", "a" BUS_HOLD_TYPE, bus_hold_get_all, 0,
			SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE),
	TEXT("WaitsFor", waits_for),
	TEXT("WaitReason", wait_reason),
	CHANGING("WaitsUntil", "t", waits_until_usec),
	CHANGING("Deadline", "t", deadline_usec),
	CHANGING("Disks", "as", disks),
	TEXT("StateDirectory", state_directory),
	CHANGING("PassStarted", "t", pass_started_usec),
	CHANGING("LastStarted", "t", last_started_usec),
	CHANGING("LastEnded", "t", last_ended_usec),
	TEXT("LastOutcome", last_outcome),
	TEXT("LastError", last_error),
	CHANGING("LastExitStatus", "t", last_exit_status),
	CHANGING("LastFreedBytes", "t", last_freed_bytes),
	CHANGING("LastSharedBytes", "t", last_shared_bytes),
	CHANGING("LastReadBytes", "t", last_read_bytes),
	CHANGING("Passes", "t", passes),
	CHANGING("FreedBytes", "t", freed_bytes),
	CHANGING("ReadBytes", "t", read_bytes),
	TEXT("Stage", stage),
	CHANGING("StageStarted", "t", stage_started_usec),
	CHANGING("StageFiles", "t", stage_files),
	CHANGING("StageBytes", "t", stage_bytes),
	CHANGING("StageTotalBytes", "t", stage_total_bytes),
	CHANGING("PassFreedBytes", "t", pass_freed_bytes),
	METHOD("Start", ""),
	SD_BUS_METHOD_WITH_ARGS("Run", SD_BUS_ARGS("aay", paths, "as", wishes), SD_BUS_NO_RESULT,
				on_method, SD_BUS_VTABLE_UNPRIVILEGED),
	METHOD("Stop", ""),
	METHOD("Pause", ""),
	SD_BUS_METHOD_WITH_ARGS("PauseFor", SD_BUS_ARGS("t", usec), SD_BUS_NO_RESULT, on_method,
				SD_BUS_VTABLE_UNPRIVILEGED),
	METHOD("Resume", ""),
	SD_BUS_METHOD_WITH_ARGS("Hold", SD_BUS_ARGS("s", why), SD_BUS_RESULT("h", lease), on_method,
				SD_BUS_VTABLE_UNPRIVILEGED),
	METHOD("Forget", ""),
	METHOD("GetReport", "h"),
	METHOD("GetHistory", "h"),
	METHOD("GetSkipped", "h"),
	METHOD("GetSkippedTotals", "h"),
	SD_BUS_VTABLE_END,
};

const sd_bus_vtable *bus_filesystem_vtable(void)
{
	return vtable;
}

char **bus_filesystem_changing(bool is_progress)
{
	static const char *const progress[] = { "StageFiles", "StageBytes", "StageTotalBytes",
						"PassFreedBytes", NULL };
	g_autoptr(GStrvBuilder) names = g_strv_builder_new();

	for (const sd_bus_vtable *entry = vtable; entry->type != _SD_BUS_VTABLE_END; entry++)
		if (entry->type == _SD_BUS_VTABLE_PROPERTY &&
		    entry->flags & SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE &&
		    (!is_progress || g_strv_contains(progress, entry->x.property.member)))
			g_strv_builder_add(names, entry->x.property.member);

	return g_strv_builder_end(names);
}
