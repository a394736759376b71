/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-client.h"

#include "cli/client/daemon-properties.h"
#include "cli/terminal/polkit-agent.h"
#include "common/text/bus-names.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define CONNECT_SECONDS 5

/* Time enough to answer a password prompt. */
#define CALL_USEC (UINT64_C(120) * G_USEC_PER_SEC)

/* The timeout while a user watches, who may want to leave. */
#define WATCHED_CALL_USEC (UINT64_C(3) * G_USEC_PER_SEC)

/* How long and how often to retry the connection. */
#define CROWDED_USEC       (UINT64_C(5) * G_USEC_PER_SEC)
#define CROWDED_RETRY_USEC (G_USEC_PER_SEC / 20)

struct DaemonClient {
	sd_bus *bus;
	bool is_private;
	PolkitAgent agent;

	/* For watching. */
	void (*changed)(void *data);
	void (*gone)(void *data);
	void *data;
};

G_DEFINE_QUARK(dedupctl - daemon - client - error - quark, daemon_client_error)

typedef sd_bus_message Message;
typedef sd_bus Connection;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Message, sd_bus_message_unref)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Connection, sd_bus_flush_close_unref)

static uint64_t call_usec(const DaemonClient *client)
{
	return client->changed ? WATCHED_CALL_USEC : CALL_USEC;
}

/*
 * The error of sd-bus if the service closes the connection before it hears anything.  The service does so while
 * it already serves its maximum of connections.
 */
static bool is_hung_up(int failed)
{
	return failed == -ECONNRESET || failed == -ENOTCONN || failed == -EPIPE;
}

/*
 * Connect to the service's socket at @path.  Returns a descriptor or a negative errno.
 *
 * It waits up to CONNECT_SECONDS while others fill the socket's connection queue.  sd-bus would not wait, and
 * connect() fails at once in that case (EAGAIN).
 */
static int connect_to(const char *path)
{
	const struct timeval patience = { .tv_sec = CONNECT_SECONDS };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) fd = -1;

	if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;

	return fd_steal(&fd);
}

static int try_socket(sd_bus **ret)
{
	const char *path = g_getenv(BUS_SOCKET_VARIABLE);
	g_autoptr(Connection) bus = NULL;
	g_auto(Fd) fd = connect_to(path ? path : BUS_SOCKET);
	int failed = fd < 0 ? fd : sd_bus_new(&bus);
	sd_id128_t id;

	if (failed >= 0)
		failed = sd_bus_set_fd(bus, fd, fd);
	if (failed >= 0)
		fd_steal(&fd); /* now owned by the bus */
	if (failed >= 0)
		failed = sd_bus_start(bus);
	/* This waits until we are let in. */
	if (failed >= 0)
		failed = sd_bus_get_bus_id(bus, &id);
	if (failed >= 0)
		*ret = g_steal_pointer(&bus);

	return failed;
}

/* Others may go meanwhile. */
static int connect_socket(sd_bus **ret)
{
	const int64_t end = g_get_monotonic_time() + CROWDED_USEC;
	int failed = try_socket(ret);

	while (is_hung_up(failed) && g_get_monotonic_time() < end) {
		g_usleep(CROWDED_RETRY_USEC);
		failed = try_socket(ret);
	}

	return failed;
}

/* Open the system bus, if dedupd is on it. */
static int connect_system(sd_bus **ret)
{
	g_autoptr(Connection) bus = NULL;
	int failed = sd_bus_open_system(&bus);

	if (failed >= 0)
		failed = sd_bus_set_allow_interactive_authorization(bus, true);
	if (failed >= 0)
		failed = sd_bus_get_name_creds(bus, BUS_NAME, 0, NULL);
	if (failed >= 0)
		*ret = g_steal_pointer(&bus);

	return failed;
}

DaemonClient *daemon_client_connect(GError **error)
{
	g_autoptr(DaemonClient) client = g_new0(DaemonClient, 1);
	bool is_crowded = false;

	/* On the socket, only root may do more than look; on the bus, polkit can allow it to others. */
	for (size_t i = 0; i < 2; i++) {
		int failed;

		client->is_private = (geteuid() == 0) == (i == 0);
		failed = client->is_private ? connect_socket(&client->bus)
					    : connect_system(&client->bus);
		if (failed >= 0)
			return g_steal_pointer(&client);
		is_crowded |= client->is_private && is_hung_up(failed);
	}

	if (is_crowded) {
		g_set_error_literal(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_FAILED,
				    "dedupd serves as many callers as it can; try again");
		return NULL;
	}
	g_set_error_literal(
		error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_NOT_RUNNING,
		"dedupd does not run as a service ('systemctl start dedupd' starts it)");
	return NULL;
}

void daemon_client_close(DaemonClient *client)
{
	if (!client)
		return;

	polkit_agent_stop(&client->agent);
	sd_bus_flush_close_unref(client->bus);
	g_free(client);
}

static void fail(GError **error, const sd_bus_error *bus_error, int failed)
{
	static const struct {
		const char *name;
		DaemonClientError code;
	} known[] = {
		{ SD_BUS_ERROR_UNKNOWN_OBJECT, DAEMON_CLIENT_ERROR_GONE },
		{ BUS_ERROR_UNKNOWN, DAEMON_CLIENT_ERROR_UNKNOWN },
		{ BUS_ERROR_IN_USE, DAEMON_CLIENT_ERROR_IN_USE },
		{ SD_BUS_ERROR_LIMITS_EXCEEDED, DAEMON_CLIENT_ERROR_CROWDED },
		{ SD_BUS_ERROR_NO_REPLY, DAEMON_CLIENT_ERROR_SILENT },
		{ SD_BUS_ERROR_TIMEOUT, DAEMON_CLIENT_ERROR_SILENT },
		{ SD_BUS_ERROR_DISCONNECTED, DAEMON_CLIENT_ERROR_SILENT },
		{ SD_BUS_ERROR_UNKNOWN_METHOD, DAEMON_CLIENT_ERROR_SILENT },
	};
	DaemonClientError code = DAEMON_CLIENT_ERROR_REFUSED;

	if (!sd_bus_error_is_set(bus_error)) {
		g_set_error_literal(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_FAILED,
				    g_strerror(-failed));
		return;
	}

	for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
		if (sd_bus_error_has_name(bus_error, known[i].name) > 0)
			code = known[i].code;
	/* Tell a caller who may only look who can do it. */
	if ((sd_bus_error_has_name(bus_error, SD_BUS_ERROR_ACCESS_DENIED) > 0 ||
	     sd_bus_error_has_name(bus_error, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) >
		     0) &&
	    geteuid() != 0)
		g_set_error(error, DAEMON_CLIENT_ERROR, code, "%s: use sudo", bus_error->message);
	else
		g_set_error_literal(error, DAEMON_CLIENT_ERROR, code, bus_error->message);
}

/* Make a call of @method; returns as sd-bus does.  On the private socket, it has no destination. */
static int new_call(DaemonClient *client, const char *path, const char *interface,
		    const char *method, Message **ret)
{
	return sd_bus_message_new_method_call(
		client->bus, ret, client->is_private ? NULL : BUS_NAME, path, interface, method);
}

/* Whether polkit would allow the refused call with a password, and a user can be asked for it now. */
static bool can_be_authorized(DaemonClient *client, const sd_bus_error *refusal)
{
	return !client->is_private && client->agent.process == 0 &&
	       sd_bus_error_has_name(refusal, SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED) >
		       0 &&
	       polkit_agent_start(&client->agent);
}

/* Send @message, unless making it @failed before.  Returns the reply. */
static Message *send_call(DaemonClient *client, Message *message, int failed, GError **error)
{
	sd_bus_error bus_error = SD_BUS_ERROR_NULL;
	Message *reply = NULL;

	if (failed >= 0)
		failed = sd_bus_call(client->bus, message, call_usec(client), &bus_error, &reply);
	if (failed < 0 && can_be_authorized(client, &bus_error)) {
		sd_bus_error_free(&bus_error);
		failed = sd_bus_call(client->bus, message, call_usec(client), &bus_error, &reply);
	}
	if (failed < 0)
		fail(error, &bus_error, failed);

	sd_bus_error_free(&bus_error);
	return reply;
}

/* Call @method with arguments of @types, as in sd_bus_message_append().  Returns the reply. */
static Message *call(DaemonClient *client, const char *path, const char *interface,
		     const char *method, GError **error, const char *types, ...)
{
	g_autoptr(Message) message = NULL;
	int failed = new_call(client, path, interface, method, &message);
	va_list arguments;

	va_start(arguments, types);
	if (failed >= 0 && *types != '\0')
		failed = sd_bus_message_appendv(message, types, arguments);
	va_end(arguments);
	return send_call(client, message, failed, error);
}

void daemon_disk_free(DaemonDisk *disk)
{
	g_free(disk->name);
	g_free(disk);
}

/* Read the next one of the reply.  Below 0: of an unknown form; 0: there is none. */
static int read_disk(sd_bus_message *reply, GPtrArray *disks)
{
	DaemonDisk read = { 0 };
	const char *name;
	int is_set, makes_way, is_rotating;
	int got = sd_bus_message_read(reply, "(sttbbbt)", &name, &read.rate_bytes,
				      &read.rate_requests, &is_set, &makes_way, &is_rotating,
				      &read.charged_bytes);

	if (got <= 0)
		return got;

	read.name = g_strdup(name);
	read.is_set = is_set;
	read.makes_way = makes_way;
	read.is_rotating = is_rotating;
	g_ptr_array_add(disks, g_memdup2(&read, sizeof(read)));
	return 1;
}

GPtrArray *daemon_client_disks(DaemonClient *client, GError **error)
{
	g_autoptr(GPtrArray) disks =
		g_ptr_array_new_with_free_func((GDestroyNotify)daemon_disk_free);
	g_autoptr(Message) reply =
		call(client, BUS_PATH, BUS_MANAGER_INTERFACE, "ListDisks", error, "");
	int got;

	if (!reply)
		return NULL;

	got = sd_bus_message_enter_container(reply, 'a', "(sttbbbt)");
	while (got > 0)
		got = read_disk(reply, disks);
	if (got == 0)
		return g_steal_pointer(&disks);

	fail(error, &SD_BUS_ERROR_NULL, got);
	return NULL;
}

bool daemon_client_set_budget(DaemonClient *client, const char *disk, uint64_t bytes,
			      uint64_t requests, GError **error)
{
	g_autoptr(Message) reply = call(client, BUS_PATH, BUS_MANAGER_INTERFACE, "SetBudget", error,
					"stt", disk, bytes, requests);

	return reply;
}

bool daemon_client_reload(DaemonClient *client, GError **error)
{
	g_autoptr(Message) reply =
		call(client, BUS_PATH, BUS_MANAGER_INTERFACE, "Reload", error, "");

	return reply;
}

/* Whether a signal, which comes each second, tells only the progress of a pass.  Other changes include the state. */
static bool is_progress(sd_bus_message *message)
{
	const char *name;

	if (!sd_bus_message_has_signature(message, "sa{sv}as") ||
	    sd_bus_message_skip(message, "s") < 0 ||
	    sd_bus_message_enter_container(message, 'a', "{sv}") < 0)
		return false;
	while (sd_bus_message_enter_container(message, 'e', "sv") > 0)
		if (sd_bus_message_read(message, "s", &name) < 0 || strcmp(name, "State") == 0 ||
		    sd_bus_message_skip(message, "v") < 0 ||
		    sd_bus_message_exit_container(message) < 0)
			return false;
	return true;
}

static int on_changed(sd_bus_message *message, void *data, sd_bus_error *unused)
{
	DaemonClient *client = data;

	if (!is_progress(message))
		client->changed(client->data);
	return 0;
}

static int on_gone(sd_bus_message *message, void *data, sd_bus_error *unused)
{
	DaemonClient *client = data;

	client->gone(client->data);
	return 0;
}

/* The service's name has another owner, or none. */
static int on_owner(sd_bus_message *message, void *data, sd_bus_error *unused)
{
	const char *name, *from, *to;

	if (sd_bus_message_read(message, "sss", &name, &from, &to) < 0 || to[0] != '\0')
		return 0;
	return on_gone(message, data, unused);
}

bool daemon_client_watch(DaemonClient *client, sd_event *event, void (*changed)(void *data),
			 void (*gone)(void *data), void *data, GError **error)
{
	const char *sender = client->is_private ? NULL : BUS_NAME;
	int failed;

	client->changed = changed;
	client->gone = gone;
	client->data = data;
	failed = sd_bus_match_signal(client->bus, NULL, sender, NULL,
				     "org.freedesktop.DBus.Properties", "PropertiesChanged",
				     on_changed, client);
	if (failed >= 0)
		failed = sd_bus_match_signal(client->bus, NULL, sender, BUS_PATH,
					     BUS_MANAGER_INTERFACE, "FilesystemsChanged",
					     on_changed, client);
	/* Messages of sd-bus itself, on either transport. */
	if (failed >= 0)
		failed = sd_bus_add_match(client->bus, NULL,
					  "type='signal',sender='org.freedesktop.DBus.Local',"
					  "member='Disconnected'",
					  on_gone, client);
	if (failed >= 0 && !client->is_private)
		failed = sd_bus_add_match(client->bus, NULL,
					  "type='signal',sender='org.freedesktop.DBus',"
					  "member='NameOwnerChanged',arg0='" BUS_NAME "'",
					  on_owner, client);
	if (failed >= 0)
		failed = sd_bus_attach_event(client->bus, event, SD_EVENT_PRIORITY_NORMAL);
	if (failed >= 0)
		return true;

	fail(error, &SD_BUS_ERROR_NULL, failed);
	return false;
}

/* The service's name of the filesystem @name, which may be a link, relative, and of any bytes. */
static char *find_uuid(DaemonClient *client, const char *name, GError **error)
{
	g_autoptr(GPtrArray) all =
		g_uuid_string_is_valid(name) ? NULL : daemon_client_list(client, NULL);
	const DaemonFilesystem *called = all ? daemon_filesystem_find(all, name) : NULL;

	if (called)
		return g_strdup(called->uuid);
	if (g_utf8_validate(name, -1, NULL))
		return g_strdup(name);

	g_set_error(error, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_UNKNOWN,
		    "no mounted btrfs or XFS filesystem has the UUID or mount point %s", name);
	return NULL;
}

/* The path of the object of the filesystem @name. */
static char *find_path(DaemonClient *client, const char *name, GError **error)
{
	g_autofree char *uuid = find_uuid(client, name, error);
	g_autoptr(Message) found = uuid ? call(client, BUS_PATH, BUS_MANAGER_INTERFACE,
					       "FindFilesystem", error, "s", uuid)
					: NULL;
	const char *path;

	if (!found)
		return NULL;
	if (sd_bus_message_read(found, "o", &path) >= 0)
		return g_strdup(path);

	fail(error, &SD_BUS_ERROR_NULL, -EBADMSG);
	return NULL;
}

bool daemon_client_call(DaemonClient *client, const char *name, const char *method, GError **error)
{
	g_autofree char *path = find_path(client, name, error);
	g_autoptr(Message) reply =
		path ? call(client, path, BUS_FILESYSTEM_INTERFACE, method, error, "") : NULL;

	return reply;
}

bool daemon_client_pause_for(DaemonClient *client, const char *name, uint64_t usec, GError **error)
{
	g_autofree char *path = find_path(client, name, error);
	g_autoptr(Message) reply =
		path ? call(client, path, BUS_FILESYSTEM_INTERFACE, "PauseFor", error, "t", usec)
		     : NULL;

	return reply;
}

/* Names are bytes, which a string of the bus cannot hold. */
static int append_paths(sd_bus_message *message, char *const *paths)
{
	int failed = sd_bus_message_open_container(message, SD_BUS_TYPE_ARRAY, "ay");

	for (size_t i = 0; paths[i] && failed >= 0; i++)
		failed = sd_bus_message_append_array(message, SD_BUS_TYPE_BYTE, paths[i],
						     strlen(paths[i]));

	return failed < 0 ? failed : sd_bus_message_close_container(message);
}

bool daemon_client_run(DaemonClient *client, const char *name, char *const *paths,
		       char *const *wishes, GError **error)
{
	g_autofree char *path = find_path(client, name, error);
	g_autoptr(Message) message = NULL;
	g_autoptr(Message) reply = NULL;
	int failed;

	if (!path)
		return false;
	failed = new_call(client, path, BUS_FILESYSTEM_INTERFACE, "Run", &message);
	if (failed >= 0)
		failed = append_paths(message, paths);
	if (failed >= 0)
		failed = sd_bus_message_append_strv(message, (char **)wishes);
	reply = send_call(client, message, failed, error);
	return reply;
}

bool daemon_client_hold(DaemonClient *client, const char *name, const char *why, int *ret_fd,
			GError **error)
{
	g_autofree char *path = find_path(client, name, error);
	g_autoptr(Message) reply =
		path ? call(client, path, BUS_FILESYSTEM_INTERFACE, "Hold", error, "s", why) : NULL;
	int fd;

	*ret_fd = -1;
	if (!reply)
		return false;
	/* The message owns the descriptor. */
	if (sd_bus_message_read(reply, "h", &fd) >= 0)
		*ret_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (*ret_fd < 0)
		fail(error, &SD_BUS_ERROR_NULL, -EBADMSG);
	return *ret_fd >= 0;
}

char *daemon_client_text(DaemonClient *client, const char *name, const char *method, GError **error)
{
	g_autofree char *path = find_path(client, name, error);
	g_autoptr(Message) reply =
		path ? call(client, path, BUS_FILESYSTEM_INTERFACE, method, error, "") : NULL;
	g_autofree char *file = NULL;
	char *text = NULL;
	int fd;

	if (!reply)
		return NULL;
	if (sd_bus_message_read(reply, "h", &fd) < 0) {
		fail(error, &SD_BUS_ERROR_NULL, -EBADMSG);
		return NULL;
	}

	/* The message owns the descriptor, and others may read the same file. */
	file = g_strdup_printf("/proc/self/fd/%d", fd);
	return g_file_get_contents(file, &text, NULL, error) ? text : NULL;
}

static DaemonFilesystem *read_filesystem(DaemonClient *client, const char *path, GError **error)
{
	g_autoptr(Message) reply = call(client, path, "org.freedesktop.DBus.Properties", "GetAll",
					error, "s", BUS_FILESYSTEM_INTERFACE);
	DaemonFilesystem *filesystem = NULL;
	int failed;

	if (!reply)
		return NULL;

	failed = daemon_properties_read(reply, &filesystem);
	if (failed < 0)
		fail(error, &SD_BUS_ERROR_NULL, failed);
	return filesystem;
}

DaemonFilesystem *daemon_client_get(DaemonClient *client, const char *name, GError **error)
{
	g_autofree char *path = find_path(client, name, error);

	return path ? read_filesystem(client, path, error) : NULL;
}

/*
 * Ask for all objects.  A service whose answers wait for the bus daemon refuses that: others may take theirs meanwhile.
 * While a user watches, the caller asks again.
 */
static Message *ask_for_objects(DaemonClient *client, GError **error)
{
	const int64_t end = g_get_monotonic_time() + CROWDED_USEC;

	for (;;) {
		g_autoptr(GError) failure = NULL;
		Message *reply = call(client, BUS_PATH, "org.freedesktop.DBus.ObjectManager",
				      "GetManagedObjects", &failure, "");

		if (reply)
			return reply;
		if (!g_error_matches(failure, DAEMON_CLIENT_ERROR, DAEMON_CLIENT_ERROR_CROWDED) ||
		    client->changed || g_get_monotonic_time() >= end) {
			g_propagate_error(error, g_steal_pointer(&failure));
			return NULL;
		}
		g_usleep(CROWDED_RETRY_USEC);
	}
}

GPtrArray *daemon_client_list(DaemonClient *client, GError **error)
{
	g_autoptr(GPtrArray) all =
		g_ptr_array_new_with_free_func((GDestroyNotify)daemon_filesystem_free);
	g_autoptr(Message) reply = ask_for_objects(client, error);
	int failed;

	if (!reply)
		return NULL;

	failed = daemon_properties_read_all(reply, all);
	if (failed >= 0)
		return g_steal_pointer(&all);

	fail(error, &SD_BUS_ERROR_NULL, failed);
	return NULL;
}
