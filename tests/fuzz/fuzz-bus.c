/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-objects.h"
#include "daemon/bus/bus.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/hostile-store.h"
#include "tests/unit/fake-manager.h"
#include "tests/unit/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY 65534

/* An answer has to come within so many turns of the main loop, the last ones of which wait a little. */
#define TURNS_MAX   20000
#define TURNS_QUICK 50

#define CALLS_MAX 6
#define LIST_MAX  5

static struct {
	Manager manager; /* with one filesystem, which is not mounted */
	Scratch *scratch;
	MainLoop *loop;
	Bus *bus;
	char *address;
	char *filesystem_path;
} service;

const char *const fuzz_seeds[] = { NULL };

static void on_changed(ManagedFilesystem *managed, void *data)
{
	if (service.manager.listener.changed)
		service.manager.listener.changed(managed, service.manager.listener.data);
}

static void on_due(void *data)
{
}

static void make_store(const char *directory)
{
	const HashStoreOptions options = hostile_store_options(directory, "XFS");
	g_autoptr(HashStore) store = hash_store_open(&options, NULL);

	hostile_store_fill(store);
}

static void begin_service(void)
{
	static const ManagedListener listener = { on_changed, on_due, NULL };
	g_autoptr(GError) error = NULL;
	Settings *settings = settings_new();
	g_autofree char *socket_path = NULL;
	ManagedFilesystem *managed;

	/* Not the bus of the machine that this runs on. */
	g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", true);
	service.scratch = scratch_new();
	service.loop = main_loop_new(&error);
	g_assert_no_error(error);
	service.manager.disks = disk_table_new();
	service.manager.filesystems = g_ptr_array_new();
	managed = managed_filesystem_new(HOSTILE_STORE_UUID, service.loop, service.manager.disks,
					 NULL, &listener);
	settings->state_directory = scratch_path(service.scratch, "state");
	make_store(settings->state_directory);
	managed_filesystem_set_settings(managed, settings, disk_topology_system());
	settings_unref(settings);
	g_ptr_array_add(service.manager.filesystems, managed);

	socket_path = scratch_path(service.scratch, "socket");
	service.bus = bus_new(&service.manager, service.loop, -1, socket_path, &error);
	g_assert_no_error(error);
	service.address = g_strconcat("unix:path=", socket_path, NULL);
	service.filesystem_path = bus_filesystem_path(HOSTILE_STORE_UUID);
}

static void end_service(void)
{
	bus_free(service.bus);
	managed_filesystem_free(service.manager.filesystems->pdata[0]);
	g_ptr_array_unref(service.manager.filesystems);
	disk_table_free(service.manager.disks);
	main_loop_free(service.loop);
	scratch_free(service.scratch);
	g_free(service.address);
	g_free(service.filesystem_path);
}

static void turn(sd_bus *client, unsigned n)
{
	sd_event_run(service.loop->event, n < TURNS_QUICK ? 0 : 1000);
	if (client)
		while (sd_bus_process(client, NULL) > 0)
			;
}

static sd_bus *connect_client(bool is_root)
{
	sd_bus *client = NULL;

	g_assert_cmpint(seteuid(is_root ? 0 : NOBODY), ==, 0);
	g_assert_cmpint(sd_bus_new(&client), >=, 0);
	g_assert_cmpint(sd_bus_set_address(client, service.address), >=, 0);
	g_assert_cmpint(sd_bus_start(client), >=, 0);
	g_assert_cmpint(seteuid(0), ==, 0);
	for (unsigned i = 0; sd_bus_is_ready(client) == 0; i++) {
		g_assert_cmpuint(i, <, TURNS_MAX);
		turn(client, i);
	}
	return client;
}

typedef struct {
	bool is_of_manager;
	bool is_control;
	const char *interface;
	const char *member;
	const char *signature;
} Method;

#define MANAGER    true, false, BUS_MANAGER_INTERFACE
#define OF_ONE     false, false, BUS_FILESYSTEM_INTERFACE
#define CONTROL    false, true, BUS_FILESYSTEM_INTERFACE
#define PROPERTIES false, false, "org.freedesktop.DBus.Properties"

static const Method methods[] = {
	{ MANAGER, "ListFilesystems", "" },
	{ MANAGER, "FindFilesystem", "s" },
	{ MANAGER, "ListDisks", "" },
	{ true, true, BUS_MANAGER_INTERFACE, "SetBudget", "stt" },
	{ true, true, BUS_MANAGER_INTERFACE, "Reload", "" },
	{ CONTROL, "Start", "" },
	{ CONTROL, "Run", "aayas" },
	{ CONTROL, "Run", "aayas" },
	{ CONTROL, "Stop", "" },
	{ CONTROL, "Pause", "" },
	{ CONTROL, "PauseFor", "t" },
	{ CONTROL, "Resume", "" },
	{ CONTROL, "Forget", "" },
	{ OF_ONE, "GetReport", "" },
	{ OF_ONE, "GetHistory", "" },
	{ OF_ONE, "GetSkipped", "" },
	{ OF_ONE, "GetSkippedTotals", "" },
	{ PROPERTIES, "Get", "ss" },
	{ PROPERTIES, "GetAll", "s" },
	{ PROPERTIES, "Set", "ssv" },
	{ true, false, "org.freedesktop.DBus.Properties", "GetAll", "s" },
	{ true, false, "org.freedesktop.DBus.Introspectable", "Introspect", "" },
	{ false, false, "org.freedesktop.DBus.Introspectable", "Introspect", "" },
	{ true, false, "org.freedesktop.DBus.Peer", "Ping", "" },
	{ true, false, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "" },
};

static char *any_text(Choices *choices)
{
	static const char *const texts[] = {
		"",
		"/",
		"/srv",
		"dry-run",
		"dry-run=1",
		"min-size=1G",
		"min-size=-1",
		"min-age=9999999999999h",
		"min-age=",
		"exclude=**/[",
		"exclude=",
		"--json",
		"json",
		"state-dir=/",
		HOSTILE_STORE_UUID,
		"sda",
		"../../etc",
		"\xe2\x80\xae\x1b[31m",
		BUS_MANAGER_INTERFACE,
		BUS_FILESYSTEM_INTERFACE,
		"State",
		"LastError",
		"StateDirectory",
		"Disks",
		"Version",
	};
	uint64_t kind = choices_below(choices, G_N_ELEMENTS(texts) + 1);

	return kind < G_N_ELEMENTS(texts) ? g_strdup(texts[kind])
					  : g_strnfill(choices_below(choices, 70000), 'a');
}

static int append_value(Choices *choices, sd_bus_message *message, char type);

static int append_texts(Choices *choices, sd_bus_message *message)
{
	int failed = sd_bus_message_open_container(message, 'a', "s");

	for (uint64_t n = choices_below(choices, LIST_MAX); n > 0 && failed >= 0; n--)
		failed = append_value(choices, message, 's');
	return failed < 0 ? failed : sd_bus_message_close_container(message);
}

static int append_paths(Choices *choices, sd_bus_message *message)
{
	uint64_t n = choices_below(choices, 32) == 31 ? 1100 : choices_below(choices, LIST_MAX);
	int failed = sd_bus_message_open_container(message, 'a', "ay");

	for (; n > 0 && failed >= 0; n--) {
		g_autofree char *text = any_text(choices);
		size_t length = strlen(text) + (choices_yes(choices) ? 1 : 0);

		if (length > 1 && choices_below(choices, 4) == 0)
			text[length / 2] = (char)choices_below(choices, 256);
		failed = sd_bus_message_append_array(message, 'y', text, length);
	}
	return failed < 0 ? failed : sd_bus_message_close_container(message);
}

static int append_value(Choices *choices, sd_bus_message *message, char type)
{
	g_autofree char *text = NULL;
	uint64_t number;

	switch (type) {
	case 's':
		text = any_text(choices);
		return sd_bus_message_append_basic(message, 's', text);
	case 't':
		number = choices_edge(choices);
		return sd_bus_message_append_basic(message, 't', &number);
	case 'v':
		return sd_bus_message_append(message, "v", "t", choices_edge(choices));
	default:
		return -EINVAL;
	}
}

static int append_all(Choices *choices, sd_bus_message *message, const char *signature)
{
	int failed = 0;

	if (strcmp(signature, "aayas") == 0) {
		failed = append_paths(choices, message);
		return failed < 0 ? failed : append_texts(choices, message);
	}
	for (; *signature && failed >= 0; signature++)
		failed = append_value(choices, message, *signature);
	return failed;
}

typedef struct {
	const Method *method;
	bool is_root;
	bool is_answered;
} Call;

/* Whoever may not have it done is refused; each error says something. */
static int on_answer(sd_bus_message *answer, void *data, sd_bus_error *error)
{
	Call *call = data;
	const sd_bus_error *failed = sd_bus_message_get_error(answer);

	call->is_answered = true;
	if (failed) {
		g_assert_nonnull(failed->name);
		g_assert_true(!failed->message || g_utf8_validate(failed->message, -1, NULL));
	} else {
		g_assert_true(call->is_root || !call->method->is_control);
	}
	return 0;
}

static const char *any_path(Choices *choices, const Method *method)
{
	if (choices_damage(choices))
		return "/org/dedupd1/filesystem/" /* not the one there is */
		       "3d0e6d5b_7c4f_4b4a_9d51_0c5e8a1b2c3e";
	return method->is_of_manager ? BUS_PATH : service.filesystem_path;
}

static void call(sd_bus *client, bool is_root, Choices *choices)
{
	const Method *method = &methods[choices_below(choices, G_N_ELEMENTS(methods))];
	const char *signature =
		choices_damage(choices)
			? methods[choices_below(choices, G_N_ELEMENTS(methods))].signature
			: method->signature;
	Call made = { method, is_root, false };
	sd_bus_message *message = NULL;
	sd_bus_slot *slot = NULL;
	int failed =
		sd_bus_message_new_method_call(client, &message, NULL, any_path(choices, method),
					       method->interface, method->member);

	g_assert_cmpint(failed, >=, 0);
	if (append_all(choices, message, signature) >= 0 &&
	    sd_bus_call_async(client, &slot, message, on_answer, &made, UINT64_MAX) >= 0)
		for (unsigned i = 0; !made.is_answered; i++) {
			if (i >= TURNS_MAX)
				g_error("%s(%s) is not answered", method->member, signature);
			g_assert_cmpint(sd_bus_is_open(client), >, 0);
			turn(client, i);
		}
	sd_bus_slot_unref(slot);
	sd_bus_message_unref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Choices choices = choices_begin(data, size);
	bool is_root = choices_below(&choices, 4);

	/* Who is not root cannot become somebody else. */
	if (geteuid() != 0)
		is_root = true;
	if (!service.bus) {
		begin_service();
		atexit(end_service);
	}
	sd_bus *client = connect_client(is_root);
	for (unsigned i = 0; i < CALLS_MAX && choices_are_left(&choices); i++)
		call(client, is_root, &choices);
	sd_bus_close_unref(client);
	for (unsigned i = 0; i < 3; i++)
		turn(NULL, 0);
	return 0;
}
