/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/client/daemon-properties.h"

#include "common/text/bus-names.h"

#include <stddef.h>
#include <string.h>

typedef struct {
	const char *name;
	char type;
	size_t offset;
} Property;

static const Property properties[] = {
	{ "UUID", 's', offsetof(DaemonFilesystem, uuid) },
	{ "Kind", 's', offsetof(DaemonFilesystem, kind) },
	{ "MountPoint", 's', offsetof(DaemonFilesystem, mount_point) },
	{ "State", 's', offsetof(DaemonFilesystem, state) },
	{ "Refusal", 's', offsetof(DaemonFilesystem, refusal) },
	{ "WaitsFor", 's', offsetof(DaemonFilesystem, waits_for) },
	{ "Stage", 's', offsetof(DaemonFilesystem, stage) },
	{ "LastOutcome", 's', offsetof(DaemonFilesystem, last_outcome) },
	{ "LastError", 's', offsetof(DaemonFilesystem, last_error) },
	{ "WaitReason", 's', offsetof(DaemonFilesystem, wait_reason) },
	{ "StateDirectory", 's', offsetof(DaemonFilesystem, state_directory) },
	{ "Disks", 'a', offsetof(DaemonFilesystem, disks) },
	{ "Holds", 'h', offsetof(DaemonFilesystem, holds) },
	{ "Paused", 'b', offsetof(DaemonFilesystem, is_paused) },
	{ "Asked", 'b', offsetof(DaemonFilesystem, is_asked) },
	{ "WaitsUntil", 't', offsetof(DaemonFilesystem, waits_until_usec) },
	{ "Deadline", 't', offsetof(DaemonFilesystem, deadline_usec) },
	{ "PassStarted", 't', offsetof(DaemonFilesystem, pass_started_usec) },
	{ "StageStarted", 't', offsetof(DaemonFilesystem, stage_started_usec) },
	{ "StageFiles", 't', offsetof(DaemonFilesystem, stage_files) },
	{ "StageBytes", 't', offsetof(DaemonFilesystem, stage_bytes) },
	{ "StageTotalBytes", 't', offsetof(DaemonFilesystem, stage_total_bytes) },
	{ "PassFreedBytes", 't', offsetof(DaemonFilesystem, pass_freed_bytes) },
	{ "LastStarted", 't', offsetof(DaemonFilesystem, last_started_usec) },
	{ "LastEnded", 't', offsetof(DaemonFilesystem, last_ended_usec) },
	{ "LastExitStatus", 't', offsetof(DaemonFilesystem, last_exit_status) },
	{ "LastFreedBytes", 't', offsetof(DaemonFilesystem, last_freed_bytes) },
	{ "FreedBytes", 't', offsetof(DaemonFilesystem, freed_bytes) },
	{ "Passes", 't', offsetof(DaemonFilesystem, passes) },
};

/* In the form of sd-bus. */
static const char *type_of(const Property *property)
{
	switch (property->type) {
	case 'a':
		return "as";
	case 'h':
		return "a(uuts)";
	case 's':
		return "s";
	case 'b':
		return "b";
	default:
		return "t";
	}
}

static const Property *find_property(const char *name, const char *type)
{
	for (size_t i = 0; i < G_N_ELEMENTS(properties); i++)
		if (strcmp(properties[i].name, name) == 0 &&
		    strcmp(type, type_of(&properties[i])) == 0)
			return &properties[i];
	return NULL;
}

/* The strings of an array in a variant. */
static int take_strings(sd_bus_message *message, char ***ret)
{
	char **taken = NULL;
	int failed = sd_bus_message_enter_container(message, 'v', "as");

	if (failed >= 0)
		failed = sd_bus_message_read_strv(message, &taken);
	/* sd-bus allocates with malloc(), which is what g_strfreev() frees. */
	g_strfreev(*ret);
	*ret = taken;
	return failed < 0 ? failed : sd_bus_message_exit_container(message);
}

static int take_holds(sd_bus_message *message, GPtrArray **ret)
{
	int failed = sd_bus_message_enter_container(message, 'v', "a(uuts)");

	if (failed >= 0)
		failed = sd_bus_message_enter_container(message, 'a', "(uuts)");
	while (failed >= 0) {
		DaemonHold hold;
		const char *why;

		failed = sd_bus_message_read(message, "(uuts)", &hold.uid, &hold.pid,
					     &hold.since_usec, &why);
		if (failed <= 0)
			break;
		daemon_filesystem_add_hold(ret, &hold, why);
	}
	if (failed >= 0)
		failed = sd_bus_message_exit_container(message);
	return failed < 0 ? failed : sd_bus_message_exit_container(message);
}

/* Store one property's value in its member.  Unknown properties are ignored. */
static int take_value(sd_bus_message *message, DaemonFilesystem *filesystem)
{
	const Property *property;
	const char *name, *type, *text;
	int flag, failed = sd_bus_message_read(message, "s", &name);

	if (failed >= 0)
		failed = sd_bus_message_peek_type(message, NULL, &type);
	if (failed < 0)
		return failed;

	property = find_property(name, type);
	if (!property)
		return sd_bus_message_skip(message, "v");

	void *member = (char *)filesystem + property->offset;
	switch (property->type) {
	case 's':
		failed = sd_bus_message_read(message, "v", "s", &text);
		if (failed >= 0)
			*(char **)member = g_strdup(text);
		return failed;
	case 'a':
		return take_strings(message, member);
	case 'h':
		return take_holds(message, member);
	case 'b':
		failed = sd_bus_message_read(message, "v", "b", &flag);
		*(bool *)member = failed >= 0 && flag;
		return failed;
	default:
		return sd_bus_message_read(message, "v", "t", member);
	}
}

/* Properties that a service of another version does not send are empty. */
static void fill_in(DaemonFilesystem *filesystem)
{
	for (size_t i = 0; i < G_N_ELEMENTS(properties); i++) {
		char **text = (char **)((char *)filesystem + properties[i].offset);

		if (properties[i].type == 's' && !*text)
			*text = g_strdup("");
	}
	if (!filesystem->disks)
		filesystem->disks = g_new0(char *, 1);
	if (!filesystem->holds)
		filesystem->holds = g_ptr_array_new();
}

int daemon_properties_read(sd_bus_message *reply, DaemonFilesystem **ret)
{
	g_autoptr(DaemonFilesystem) filesystem = g_new0(DaemonFilesystem, 1);
	int failed = sd_bus_message_enter_container(reply, 'a', "{sv}");

	while (failed >= 0 && (failed = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
		failed = take_value(reply, filesystem);
		if (failed >= 0)
			failed = sd_bus_message_exit_container(reply);
	}
	if (failed >= 0)
		failed = sd_bus_message_exit_container(reply);
	if (failed < 0)
		return failed;

	fill_in(filesystem);
	*ret = g_steal_pointer(&filesystem);
	return 0;
}

/* Read the properties of one interface of an object.  Interfaces of other objects are ignored. */
static int read_interface(sd_bus_message *reply, GPtrArray *all)
{
	DaemonFilesystem *filesystem = NULL;
	const char *interface;
	int failed = sd_bus_message_read(reply, "s", &interface);

	if (failed >= 0 && strcmp(interface, BUS_FILESYSTEM_INTERFACE) != 0)
		failed = sd_bus_message_skip(reply, "a{sv}");
	else if (failed >= 0)
		failed = daemon_properties_read(reply, &filesystem);
	if (filesystem)
		g_ptr_array_add(all, filesystem);
	return failed < 0 ? failed : sd_bus_message_exit_container(reply);
}

/* Read the interfaces of the next object.  Below 0: of an unknown form; 0: there is none. */
static int read_object(sd_bus_message *reply, GPtrArray *all)
{
	int got = sd_bus_message_enter_container(reply, 'e', "oa{sa{sv}}");

	if (got <= 0)
		return got;

	got = sd_bus_message_skip(reply, "o");
	if (got >= 0)
		got = sd_bus_message_enter_container(reply, 'a', "{sa{sv}}");
	while (got >= 0 && (got = sd_bus_message_enter_container(reply, 'e', "sa{sv}")) > 0)
		got = read_interface(reply, all);
	if (got >= 0)
		got = sd_bus_message_exit_container(reply);
	if (got >= 0)
		got = sd_bus_message_exit_container(reply);
	return got < 0 ? got : 1;
}

int daemon_properties_read_all(sd_bus_message *reply, GPtrArray *all)
{
	int got = sd_bus_message_enter_container(reply, 'a', "{oa{sa{sv}}}");

	while (got > 0)
		got = read_object(reply, all);
	return got;
}
