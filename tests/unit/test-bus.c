/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-objects.h"
#include "daemon/bus/bus.h"
#include "kernel-ioctl/call/fd.h"
#include "tests/unit/fake-manager.h"
#include "tests/unit/scratch.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The bus with many filesystems, which are not mounted, and one peer on the socket.  Main and the peer share a loop. */

#define MANY          1000
#define PATIENCE_USEC (30 * G_USEC_PER_SEC)

typedef struct {
	Scratch *scratch;
	MainLoop *loop;
	Manager manager;
	Bus *bus;
	sd_bus *peer;
	unsigned n_changed, n_added, n_removed, n_listed, n_refused;
	bool is_hung_up;
} Fixture;

static void add_filesystem(Fixture *fixture, unsigned number)
{
	static const ManagedListener nobody = { 0 };
	g_autofree char *uuid = g_strdup_printf("00000000-0000-4000-8000-%012x", number);

	g_ptr_array_add(
		fixture->manager.filesystems,
		managed_filesystem_new(uuid, fixture->loop, fixture->manager.disks, NULL, &nobody));
}

static int on_signal(sd_bus_message *message, void *data, sd_bus_error *error)
{
	Fixture *fixture = data;

	fixture->n_changed += sd_bus_message_is_signal(message, NULL, "PropertiesChanged") > 0;
	fixture->n_added += sd_bus_message_is_signal(message, NULL, "InterfacesAdded") > 0;
	fixture->n_removed += sd_bus_message_is_signal(message, NULL, "InterfacesRemoved") > 0;
	fixture->is_hung_up |= sd_bus_message_is_signal(message, NULL, "Disconnected") > 0;
	return 0;
}

static void connect_peer(Fixture *fixture, const char *socket_path)
{
	g_autofree char *address = g_strconcat("unix:path=", socket_path, NULL);

	g_assert_cmpint(sd_bus_new(&fixture->peer), >=, 0);
	g_assert_cmpint(sd_bus_set_address(fixture->peer, address), >=, 0);
	g_assert_cmpint(sd_bus_start(fixture->peer), >=, 0);
	g_assert_cmpint(sd_bus_attach_event(fixture->peer, fixture->loop->event, 0), >=, 0);
	g_assert_cmpint(sd_bus_add_filter(fixture->peer, NULL, on_signal, fixture), >=, 0);
}

static void set_up(Fixture *fixture, gconstpointer data)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *socket_path = NULL;

	/* Not the bus of the machine that this runs on. */
	g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", true);
	fixture->scratch = scratch_new();
	fixture->loop = main_loop_new(&error);
	g_assert_no_error(error);
	fixture->manager.disks = disk_table_new();
	fixture->manager.filesystems =
		g_ptr_array_new_with_free_func((GDestroyNotify)managed_filesystem_free);
	for (unsigned i = 0; i < MANY; i++)
		add_filesystem(fixture, i);
	socket_path = scratch_path(fixture->scratch, "socket");
	fixture->bus = bus_new(&fixture->manager, fixture->loop, -1, socket_path, &error);
	g_assert_no_error(error);
	connect_peer(fixture, socket_path);
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
	sd_bus_detach_event(fixture->peer);
	sd_bus_close_unref(fixture->peer);
	bus_free(fixture->bus);
	g_ptr_array_unref(fixture->manager.filesystems);
	disk_table_free(fixture->manager.disks);
	main_loop_free(fixture->loop);
	scratch_free(fixture->scratch);
}

/* Run the loop until the peer has @n of @count.  Returns how long that took. */
static int64_t wait_for(Fixture *fixture, const unsigned *count, unsigned n)
{
	int64_t begun_usec = g_get_monotonic_time();

	while (*count < n && !fixture->is_hung_up) {
		g_assert_cmpint(g_get_monotonic_time() - begun_usec, <, PATIENCE_USEC);
		g_assert_cmpint(sd_event_run(fixture->loop->event, 1000), >=, 0);
	}
	g_assert_false(fixture->is_hung_up);
	g_assert_cmpuint(*count, ==, n);
	return g_get_monotonic_time() - begun_usec;
}

/* The objects come in the order of the manager's list. */
static void assert_path(const Fixture *fixture, unsigned number, const char *path)
{
	ManagedView view = managed_filesystem_view(fixture->manager.filesystems->pdata[number]);
	g_autofree char *expected = bus_filesystem_path(view.uuid);

	g_assert_cmpstr(path, ==, expected);
}

static int on_objects(sd_bus_message *reply, void *data, sd_bus_error *error)
{
	Fixture *fixture = data;
	const char *path;

	g_assert_cmpint(sd_bus_message_get_errno(reply), ==, 0);
	g_assert_cmpint(sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}"), >, 0);
	while (sd_bus_message_enter_container(reply, 'e', "oa{sa{sv}}") > 0) {
		g_assert_cmpint(sd_bus_message_read(reply, "o", &path), >, 0);
		if (g_str_has_prefix(path, BUS_FILESYSTEM_PREFIX "/"))
			assert_path(fixture, fixture->n_listed++, path);
		g_assert_cmpint(sd_bus_message_skip(reply, "a{sa{sv}}"), >=, 0);
		g_assert_cmpint(sd_bus_message_exit_container(reply), >=, 0);
	}
	return 0;
}

static int64_t list(Fixture *fixture)
{
	fixture->n_listed = 0;
	g_assert_cmpint(sd_bus_call_method_async(fixture->peer, NULL, NULL, BUS_PATH,
						 "org.freedesktop.DBus.ObjectManager",
						 "GetManagedObjects", on_objects, fixture, ""),
			>=, 0);
	return wait_for(fixture, &fixture->n_listed, fixture->manager.filesystems->len);
}

static void change(Fixture *fixture, unsigned number)
{
	const ManagerListener *listener = &fixture->manager.listener;

	listener->changed(fixture->manager.filesystems->pdata[number], listener->data);
}

static void change_list(Fixture *fixture)
{
	fixture->manager.listener.list_changed(fixture->manager.listener.data);
}

static void test_all_objects_come_with_one_call(Fixture *fixture, gconstpointer data)
{
	int64_t took_usec = list(fixture);

	g_test_message("%d objects in %" G_GINT64_FORMAT " us", MANY, took_usec);
}

/* A peer that reads is not hung up on, although more change at a time than may be left unread. */
static void test_changes_of_all_reach_a_peer(Fixture *fixture, gconstpointer data)
{
	int64_t took_usec;

	list(fixture);
	for (unsigned i = 0; i < MANY; i++)
		change(fixture, i);
	took_usec = wait_for(fixture, &fixture->n_changed, MANY);
	g_test_message("%d changes in %" G_GINT64_FORMAT " us", MANY, took_usec);
	g_assert_cmpuint(fixture->n_added, ==, 0);
}

static void test_many_changes_of_one_make_few_signals(Fixture *fixture, gconstpointer data)
{
	int64_t begun_usec;

	list(fixture);
	begun_usec = g_get_monotonic_time();
	while (g_get_monotonic_time() - begun_usec < G_USEC_PER_SEC / 2) {
		change(fixture, 0);
		sd_event_run(fixture->loop->event, 0);
	}
	g_assert_cmpuint(fixture->n_changed, >=, 2);
	g_assert_cmpuint(fixture->n_changed, <=, 12);
}

static void test_objects_that_come_and_go_are_told(Fixture *fixture, gconstpointer data)
{
	list(fixture);
	g_ptr_array_set_size(fixture->manager.filesystems, MANY - 2);
	change_list(fixture);
	wait_for(fixture, &fixture->n_removed, 2);
	add_filesystem(fixture, MANY);
	change_list(fixture);
	wait_for(fixture, &fixture->n_added, 1);
	list(fixture);
	g_assert_cmpuint(fixture->n_removed, ==, 2);
	g_assert_cmpuint(fixture->n_added, ==, 1);
}

static int on_no_report(sd_bus_message *reply, void *data, sd_bus_error *error)
{
	Fixture *fixture = data;

	g_assert_true(sd_bus_message_is_method_error(reply, BUS_ERROR_UNSUITABLE));
	fixture->n_refused++;
	return 0;
}

static void test_before_a_pass_has_ended_there_is_no_report(Fixture *fixture, gconstpointer data)
{
	ManagedView view = managed_filesystem_view(fixture->manager.filesystems->pdata[0]);
	g_autofree char *path = bus_filesystem_path(view.uuid);

	g_assert_cmpint(sd_bus_call_method_async(fixture->peer, NULL, NULL, path,
						 BUS_FILESYSTEM_INTERFACE, "GetReport",
						 on_no_report, fixture, ""),
			>=, 0);
	wait_for(fixture, &fixture->n_refused, 1);
}

static int connect_plainly(const Fixture *fixture)
{
	g_autofree char *path = scratch_path(fixture->scratch, "socket");
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	g_auto(Fd) fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	g_assert_cmpint(fd, >=, 0);
	g_strlcpy(address.sun_path, path, sizeof(address.sun_path));
	g_assert_cmpint(connect(fd, (const struct sockaddr *)&address, sizeof(address)), ==, 0);
	return fd_steal(&fd);
}

/* The kernel names the user of the peer, so the claim of the peer does not matter. */
static void test_a_peer_may_call_itself_as_it_likes(Fixture *fixture, gconstpointer data)
{
	g_autofree char *claim = g_strdup_printf("%u", geteuid() + 1);
	g_auto(Fd) fd = connect_plainly(fixture);
	g_autoptr(GString) hello = g_string_new("AUTH EXTERNAL ");
	int64_t begun_usec = g_get_monotonic_time();
	char answer[64] = "";

	for (const char *digit = claim; *digit; digit++)
		g_string_append_printf(hello, "%02x", (unsigned)*digit);
	g_string_append(hello, "\r\n");
	/* The protocol begins with a zero. */
	g_string_prepend_len(hello, "", 1);
	g_assert_cmpint(write(fd, hello->str, hello->len), ==, hello->len);

	while (read(fd, answer, sizeof(answer) - 1) < 0) {
		g_assert_cmpint(g_get_monotonic_time() - begun_usec, <, PATIENCE_USEC);
		g_assert_cmpint(sd_event_run(fixture->loop->event, 1000), >=, 0);
	}
	g_assert_true(g_str_has_prefix(answer, "OK "));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(path, test) g_test_add(path, Fixture, NULL, set_up, test, tear_down)
	ADD("/bus/all-objects-come-with-one-call", test_all_objects_come_with_one_call);
	ADD("/bus/changes-of-all-reach-a-peer", test_changes_of_all_reach_a_peer);
	ADD("/bus/many-changes-of-one-make-few-signals", test_many_changes_of_one_make_few_signals);
	ADD("/bus/objects-that-come-and-go-are-told", test_objects_that_come_and_go_are_told);
	ADD("/bus/before-a-pass-has-ended-there-is-no-report",
	    test_before_a_pass_has_ended_there_is_no_report);
	ADD("/bus/a-peer-may-call-itself-as-it-likes", test_a_peer_may_call_itself_as_it_likes);

	return g_test_run();
}
