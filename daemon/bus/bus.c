/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus.h"

#include "daemon/bus/bus-input.h"
#include "daemon/bus/bus-message.h"
#include "daemon/bus/bus-objects.h"
#include "daemon/bus/bus-signals.h"
#include "daemon/bus/bus-system.h"
#include "daemon/context/filesystem.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Kernel memory for answers that a peer does not read. */
#define SEND_BUFFER_BYTES (128 << 10)

/*
 * Priorities in the event loop.  Signals, timers and passes come first (0).  Root's peers, the accepting of callers
 * and the system bus take turns.  Peers that may only read come last.  The system bus does not come last: any user
 * could keep the service accepting callers, and so keep others from the bus.
 */
#define PRIORITY_OWN    10
#define PRIORITY_OTHERS 20

/*
 * Callers that wait to be accepted, root among them.  They are accepted as fast as they come: a caller that tries
 * all the time could keep the line full, and root out of it.
 */
#define BACKLOG 256

struct Bus {
	Manager *manager;
	sd_event *event;
	BusAccess *access;
	BusQueries *queries;
	int socket_fd;
	char *socket_path; /* of one that was made here; NULL */
	sd_event_source *connecting;
	GPtrArray *peers; /* Peer */
	BusSystem *system;
	BusFilesystem shown;
	BusSignals *signals;
};

typedef struct {
	Bus *bus;
	sd_bus *connection;
	BusInput *input; /* the connection reads from it */
	uid_t uid;
	pid_t pid; /* 0: of another namespace */
} Peer;

static void peer_free(Peer *peer)
{
	bus_input_free(peer->input);
	sd_bus_close_unref(peer->connection);
	g_free(peer);
}

static GError *error_of(int failed, const char *what)
{
	return g_error_new(G_IO_CHANNEL_ERROR, G_IO_CHANNEL_ERROR_FAILED, "%s: %s", what,
			   g_strerror(-failed));
}

static int add_objects(void *data, sd_bus *connection)
{
	Bus *bus = data;
	int failed = sd_bus_add_object_vtable(connection, NULL, BUS_PATH, BUS_MANAGER_INTERFACE,
					      bus_manager_vtable(), bus);

	if (failed >= 0)
		failed = sd_bus_add_fallback_vtable(
			connection, NULL, BUS_FILESYSTEM_PREFIX, BUS_FILESYSTEM_INTERFACE,
			bus_filesystem_vtable(), bus_filesystem_find, bus);
	if (failed >= 0)
		failed = sd_bus_add_node_enumerator(connection, NULL, BUS_FILESYSTEM_PREFIX,
						    bus_filesystem_list, bus);
	if (failed >= 0)
		failed = sd_bus_add_object_manager(connection, NULL, BUS_PATH);
	return failed;
}

static void hang_up(Peer *peer)
{
	bus_access_forget(peer->bus->access, peer->connection);
	bus_queries_forget(peer->bus->queries, peer->connection);
	g_ptr_array_remove_fast(peer->bus->peers, peer);
}

static int on_hung_up(sd_bus_message *message, void *data, sd_bus_error *error)
{
	hang_up(data);
	return 0;
}

/* Hang up on a peer that does not read its signals: all of them would be kept for it. */
static bool hang_up_on_deaf(Peer *peer)
{
	if (!bus_message_is_behind(peer->connection, BUS_BACKLOG_MAX))
		return false;

	g_debug("hung up on a peer that takes no answers");
	hang_up(peer);
	return true;
}

static int on_message(sd_bus_message *message, void *data, sd_bus_error *error)
{
	return hang_up_on_deaf(data);
}

static void on_given_up(void *data)
{
	g_debug("hung up on a peer that left or sent a forbidden message");
	hang_up(data);
}

static int64_t priority_of(uid_t uid)
{
	return bus_access_is_own(uid) ? PRIORITY_OWN : PRIORITY_OTHERS;
}

static int greet(Peer *peer)
{
	sd_id128_t id;
	int failed = sd_id128_randomize(&id);

	if (failed >= 0)
		failed = sd_bus_set_server(peer->connection, true, id);
	/* Otherwise closing would wait until a silent peer authenticates, or a peer reads. */
	if (failed >= 0)
		failed = sd_bus_set_close_on_exit(peer->connection, false);
	/*
	 * sd-bus would take the creator of the socket pair for the peer.  Peer.uid is the one that the kernel
	 * names.
	 */
	if (failed >= 0)
		failed = sd_bus_set_anonymous(peer->connection, true);
	if (failed >= 0)
		failed = add_objects(peer->bus, peer->connection);
	if (failed >= 0)
		failed = sd_bus_match_signal_async(
			peer->connection, NULL, "org.freedesktop.DBus.Local",
			"/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local", "Disconnected",
			on_hung_up, NULL, peer);
	if (failed >= 0)
		failed = sd_bus_add_filter(peer->connection, NULL, on_message, peer);
	if (failed >= 0)
		failed = sd_bus_start(peer->connection);
	if (failed >= 0)
		failed = sd_bus_attach_event(peer->connection, peer->bus->event,
					     (int)priority_of(peer->uid));

	return failed;
}

/* Have the connection write to @fd, which is consumed, and read from BusInput. */
static int set_fds(Peer *peer, int fd)
{
	const BusInputOptions options = {
		.message_bytes_max = bus_access_is_own(peer->uid) ? BUS_OWN_MESSAGE_BYTES_MAX
								  : BUS_OTHERS_MESSAGE_BYTES_MAX,
		.priority = priority_of(peer->uid),
		.is_rate_limited = !bus_access_is_own(peer->uid),
		.given_up = on_given_up,
		.data = peer,
	};
	g_auto(Fd) peer_fd = fd;
	g_auto(Fd) input_fd = -1;
	int failed = bus_input_new(&options, peer_fd, &peer->input, &input_fd);

	if (failed >= 0)
		failed = sd_bus_set_fd(peer->connection, input_fd, peer_fd);
	if (failed >= 0) {
		fd_steal(&input_fd);
		fd_steal(&peer_fd);
	}

	return failed;
}

/* Serve a peer that was accepted. */
static int add_peer(Bus *bus, int fd, const struct ucred *credentials)
{
	const int send_buffer_bytes = SEND_BUFFER_BYTES;
	Peer *peer = g_new0(Peer, 1);
	int failed = sd_bus_new(&peer->connection);

	peer->bus = bus;
	peer->uid = credentials->uid;
	peer->pid = credentials->pid;
	if (failed >= 0)
		failed = set_fds(peer, fd);
	else
		close(fd);
	if (failed >= 0)
		failed = greet(peer);
	if (failed >= 0)
		failed = bus_input_start(peer->input, bus->event, peer->connection);
	if (failed < 0) {
		peer_free(peer);
		return failed;
	}

	/* sd-bus has made the buffer as large as the machine allows. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof(send_buffer_bytes));
	g_ptr_array_add(bus->peers, peer);
	return 0;
}

/* Whether one more peer of this user can be served: there is room left for users with more rights. */
static bool has_room(const Bus *bus, uid_t uid)
{
	size_t n_others = 0, n_of_user = 0;

	for (size_t i = 0; i < bus->peers->len; i++) {
		const Peer *peer = bus->peers->pdata[i];

		n_others += !bus_access_is_own(peer->uid);
		n_of_user += peer->uid == uid;
	}
	if (bus->peers->len >= BUS_PEERS_MAX)
		return false;

	return bus_access_is_own(uid) ||
	       (n_others < BUS_PEERS_OF_OTHERS_MAX && n_of_user < BUS_PEERS_OF_USER_MAX);
}

static int on_connecting(sd_event_source *source, int socket_fd, uint32_t events, void *data)
{
	Bus *bus = data;
	g_auto(Fd) fd = accept4(socket_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	int failed;

	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
	    !has_room(bus, credentials.uid)) {
		g_debug("hung up on a caller: %u are served", bus->peers->len);
		return 0;
	}

	failed = add_peer(bus, fd_steal(&fd), &credentials);
	if (failed < 0)
		g_debug("cannot serve a caller: %s", g_strerror(-failed));
	return 0;
}

/* Whether a process listens at the address. */
static bool is_served(const struct sockaddr_un *address)
{
	g_auto(Fd) fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
			   errno == EAGAIN);
}

static int make_socket(const char *path, GError **error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	g_autofree char *directory = g_path_get_dirname(path);
	bool is_bound;

	if (g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >=
	    sizeof(address.sun_path)) {
		g_propagate_error(error, error_of(-ENAMETOOLONG, path));
		return -1;
	}
	if (g_mkdir_with_parents(directory, 0755) != 0 || fd < 0) {
		g_propagate_error(error, error_of(-errno, directory));
		return -1;
	}
	if (is_served(&address)) {
		g_propagate_error(error, error_of(-EADDRINUSE, path));
		return -1;
	}

	unlink(path);
	is_bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	/* Anybody may see totals; BusAccess decides about the rest. */
	if (!is_bound || chmod(path, 0666) != 0 || listen(fd, BACKLOG) != 0) {
		g_propagate_error(error, error_of(-errno, path));
		return -1;
	}

	return fd_steal(&fd);
}

static void on_system_lost(void *data, sd_bus *connection)
{
	Bus *bus = data;

	bus_access_forget(bus->access, connection);
	bus_queries_forget(bus->queries, connection);
}

static int listen_for_callers(Bus *bus)
{
	int failed = sd_event_add_io(bus->event, &bus->connecting, bus->socket_fd, EPOLLIN,
				     on_connecting, bus);

	if (failed >= 0)
		failed = sd_event_source_set_priority(bus->connecting, PRIORITY_OWN);
	return failed;
}

/* Send a signal to all that read theirs. */
static void tell_all(const BusSignal *signal, void *data)
{
	Bus *bus = data;
	sd_bus *system = bus_system_connection(bus->system);
	/* Progress is for peers that read in time: nobody is disconnected for it. */
	uint64_t n_most = signal->kind == BUS_SIGNAL_PROGRESS ? 0 : BUS_BACKLOG_MAX;

	for (size_t i = bus->peers->len; i > 0; i--) {
		Peer *peer = bus->peers->pdata[i - 1];

		if (!hang_up_on_deaf(peer) && !bus_message_is_behind(peer->connection, n_most))
			bus_signal_send(signal, peer->connection);
	}
	if (system && !bus_message_is_behind(system, n_most))
		bus_signal_send(signal, system);
}

static void on_filesystem_changed(ManagedFilesystem *managed, void *data)
{
	Bus *bus = data;

	bus_queries_changed(bus->queries, managed_filesystem_view(managed).uuid);
	bus_signals_changed(bus->signals, managed);
}

static void on_list_changed(void *data)
{
	Bus *bus = data;
	const BusSignal signal = { BUS_PATH, BUS_SIGNAL_LIST };

	tell_all(&signal, bus);
	bus_signals_list_changed(bus->signals);
}

Bus *bus_new(Manager *manager, MainLoop *loop, int socket_fd, const char *socket_path,
	     GError **error)
{
	g_autoptr(Bus) bus = g_new0(Bus, 1);
	const BusSystemListener on_system = { add_objects, on_system_lost, bus };
	const ManagerListener on_changed = { on_filesystem_changed, on_list_changed, bus };
	int failed;

	bus->manager = manager;
	bus->event = sd_event_ref(loop->event);
	bus->access = bus_access_new(bus);
	bus->queries = bus_queries_new(loop->messages);
	bus->signals = bus_signals_new(manager, tell_all, bus);
	bus->peers = g_ptr_array_new_with_free_func((GDestroyNotify)peer_free);
	bus->socket_fd = socket_fd >= 0 ? socket_fd : make_socket(socket_path, error);
	if (bus->socket_fd < 0)
		return NULL;
	if (socket_fd < 0)
		bus->socket_path = g_strdup(socket_path);

	failed = listen_for_callers(bus);
	if (failed >= 0)
		failed = bus_signals_start(bus->signals, bus->event, PRIORITY_OWN);
	if (failed < 0) {
		g_propagate_error(error, error_of(failed, "cannot listen"));
		return NULL;
	}

	bus->system = bus_system_new(bus->event, PRIORITY_OWN, &on_system);
	manager_listen(manager, &on_changed);
	return g_steal_pointer(&bus);
}

void bus_free(Bus *bus)
{
	if (!bus)
		return;

	sd_event_source_unref(bus->connecting);
	bus_signals_free(bus->signals);
	bus_system_free(bus->system);
	bus_access_free(bus->access);
	bus_queries_free(bus->queries);
	g_ptr_array_unref(bus->peers);
	fd_close(&bus->socket_fd);
	if (bus->socket_path)
		unlink(bus->socket_path);
	g_free(bus->socket_path);
	sd_event_unref(bus->event);
	g_free(bus);
}

int bus_reply_all(sd_bus_message *message, const char *type, const GPtrArray *all,
		  int (*append)(sd_bus_message *reply, const void *one))
{
	sd_bus_message *reply = NULL;
	int failed = sd_bus_message_new_method_return(message, &reply);

	if (failed >= 0)
		failed = sd_bus_message_open_container(reply, 'a', type);
	for (size_t i = 0; i < all->len && failed >= 0; i++)
		failed = append(reply, all->pdata[i]);
	if (failed >= 0)
		failed = sd_bus_message_close_container(reply);
	if (failed >= 0)
		failed = sd_bus_send(NULL, reply, NULL);

	sd_bus_message_unref(reply);
	return failed;
}

int bus_reply_failure(sd_bus_message *message, const GError *failure)
{
	/* It may name a path of any bytes, but strings of the bus are UTF-8. */
	g_autofree char *text = g_utf8_make_valid(failure->message, -1);
	bool is_in_use = g_error_matches(failure, FILESYSTEM_ERROR, FILESYSTEM_ERROR_IN_USE);

	return sd_bus_reply_method_errorf(
		message, is_in_use ? BUS_ERROR_IN_USE : BUS_ERROR_UNSUITABLE, "%s", text);
}

char *bus_filesystem_path(const char *uuid)
{
	g_autofree char *name = g_strdup(uuid);

	return g_strconcat(BUS_FILESYSTEM_PREFIX "/", g_strdelimit(name, "-", '_'), NULL);
}

BusCaller bus_caller(const Bus *bus, const sd_bus *connection)
{
	for (size_t i = 0; i < bus->peers->len; i++) {
		const Peer *peer = bus->peers->pdata[i];

		if (peer->connection == connection)
			return (BusCaller){ true, peer->uid, peer->pid };
	}

	return (BusCaller){ false, 0, 0 };
}

int bus_authorize(const Bus *bus, sd_bus_message *message, AccessLevel level, BusAction action,
		  sd_bus_error *error)
{
	BusCaller caller = bus_caller(bus, sd_bus_message_get_bus(message));

	return bus_access_run(bus->access, &caller, message, level, action, error);
}

BusAccess *bus_access(const Bus *bus)
{
	return bus->access;
}

BusQueries *bus_queries(const Bus *bus)
{
	return bus->queries;
}

Manager *bus_manager(const Bus *bus)
{
	return bus->manager;
}

BusFilesystem *bus_shown(Bus *bus)
{
	return &bus->shown;
}
