/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/missing-names.h"
#include "cli/arguments/unmounted-devices.h"
#include "cli/client/daemon-client.h"
#include "cli/doctor/doctor.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "common/config/config.h"
#include "common/events/supervisor.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/call/sysfs-attribute.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define DOCTOR_COLUMNS(COLUMN)                                                                     \
	COLUMN(DOCTOR_LEVEL, "LEVEL", "level", COLUMN_TEXT)                                        \
	COLUMN(DOCTOR_SUBJECT, "WHERE", "subject", COLUMN_TEXT)                                    \
	COLUMN(DOCTOR_CHECK, "CHECK", "check", COLUMN_TEXT)                                        \
	COLUMN(DOCTOR_EVIDENCE, "FOUND", "evidence", COLUMN_TEXT)                                  \
	COLUMN(DOCTOR_ADVICE, "WHAT TO DO", "advice", COLUMN_TEXT_CUT)

TABLE_COLUMNS(columns, DOCTOR_COLUMNS);

const TableKind table_of_doctor = { "findings", columns, G_N_ELEMENTS(columns), "dedupctl-doctor",
				    1 };

static DoctorView view_of_system(void)
{
	const char *units = BUILT_WITH_SYSTEMD ? "/etc/systemd/system" : NULL;

	return (DoctorView){ "/proc", "/sys", units, "/dev", g_get_real_time(), NULL };
}

/* Its files, and what the configuration says of them.  A faulty one is found once, for the machine. */
static void look_at_files(int fd, const DoctorView *view, const MountedFilesystem *filesystem,
			  const char *way, Findings *findings)
{
	g_auto(GStrv) names = mounted_filesystem_names(filesystem, NULL);
	g_auto(Settings) settings = { 0 };

	if (view->config)
		config_settings(view->config, (const char *const *)names, &settings);
	doctor_look_at_files(fd, view, view->config ? &settings.across_owners : NULL, findings);
	doctor_look_at_patterns(way, settings.patterns, findings);
}

static void look_inside(const DoctorView *view, const MountedFilesystem *filesystem,
			const char *way, const Options *options, Findings *findings)
{
	g_auto(Fd) fd = open(way, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FsKind kind = filesystem->identity.kind;
	const MountPoint *first = filesystem->mount_points->pdata[0];
	char fsid[FS_UUID_TEXT_BYTES];

	if (fd < 0) {
		findings_add(findings, FINDING_ERROR, "mount", NULL, "cannot open it: %s",
			     g_strerror(errno));
		return;
	}

	doctor_try_kernel(fd, kind, filesystem->uuid, filesystem->refusal && first->is_read_only,
			  findings);
	doctor_look_at_options(filesystem->options, kind, findings);
	if (kind == FS_KIND_BTRFS) {
		fs_uuid_format(filesystem->identity.fsid, fsid);
		doctor_look_at_btrfs_sysfs(view, fsid, findings);
		doctor_look_at_btrfs(fd, findings);
	}
	look_at_files(fd, view, filesystem, way, findings);
	doctor_look_at_disks(view, fd, findings);
	doctor_look_at_store(view, options->state_directory, filesystem->uuid, findings);
}

/* Say which of the filesystems with one UUID in their superblocks it is. */
static void look_at_copies(const MountTable *mounts, const MountedFilesystem *filesystem,
			   Findings *findings)
{
	const MountedFilesystem *other = mount_table_find_twin(mounts, filesystem);
	const MountPoint *first = other ? other->mount_points->pdata[0] : NULL;
	const char *advice = "name it by its mount point or its device; in a snapshot of a volume, "
			     "sharing takes room of the snapshot";
	char of_superblock[FS_UUID_TEXT_BYTES];

	fs_uuid_format(filesystem->identity.superblock_uuid, of_superblock);
	if (!fs_identity_is_copy(&filesystem->identity)) {
		if (other)
			findings_add(findings, FINDING_NOTE, "copy", NULL,
				     "the superblock of %s has its UUID: dedupd knows that by %s",
				     first->target, other->uuid);
		return;
	}
	findings_add(findings, FINDING_NOTE, "copy", advice,
		     "the UUID in its superblock is %s, as of %s: dedupd knows it by another one",
		     of_superblock, other ? first->target : "the original that may be mounted");
}

static void look_at_filesystem(const DoctorView *view, const MountTable *mounts,
			       const MountedFilesystem *filesystem, const Options *options,
			       Findings *findings)
{
	const MountPoint *first = filesystem->mount_points->pdata[0];
	g_auto(GStrv) ways = mounted_filesystem_ways(filesystem);
	struct utsname system;

	findings_set_subject(findings, first->target);
	if (filesystem->refusal)
		findings_add(findings, FINDING_ERROR, "mount", NULL, "%s", filesystem->refusal);
	else
		findings_add(findings, FINDING_OK, "mount", NULL, "%s %s on %s",
			     fs_kind_name(filesystem->identity.kind), filesystem->uuid,
			     filesystem->source);
	look_at_copies(mounts, filesystem, findings);
	if (uname(&system) == 0)
		doctor_look_at_kernel(&system, filesystem->identity.kind, findings);
	if (ways[0] && filesystem->uuid[0] != '\0')
		look_inside(view, filesystem, ways[0], options, findings);
}

/* The mounted filesystem that @name, a UUID or a path on it, is of; NULL with *ret_why to be freed. */
static const MountedFilesystem *find_named(const MountTable *mounts, const char *name,
					   char **ret_why)
{
	const MountedFilesystem *found = NULL;
	g_auto(Fd) fd = -1;
	g_autoptr(GError) failed = NULL;
	char uuid[FS_UUID_TEXT_BYTES];
	FsIdentity identity;
	int cause;
	OpenOutcome outcome = open_file_or_directory(name, &fd, &cause);

	if (outcome != OPEN_OPENED && g_uuid_string_is_valid(name)) {
		found = mount_table_find_uuid(mounts, name);
	} else if (outcome == OPEN_NOT_REGULAR) {
		*ret_why = g_strdup("it is neither a directory nor a regular file");
		return NULL;
	} else if (outcome != OPEN_OPENED) {
		*ret_why = g_strdup_printf("cannot open it: %s", g_strerror(cause));
		return NULL;
	} else if (!fs_identity_read(fd, &identity, &failed)) {
		*ret_why = g_strdup(failed->message);
		return NULL;
	} else if (identity.kind != FS_KIND_OTHER) {
		fs_uuid_format(identity.uuid, uuid);
		found = mount_table_find_uuid(mounts, uuid);
	}

	*ret_why = found ? NULL : g_strdup("it belongs to no mounted btrfs or XFS filesystem");
	return found;
}

/* The resolved path of a block device or a regular file, to be freed; NULL: @name is neither. */
static char *device_or_file(const char *name, bool *ret_is_device)
{
	g_autofree char *path = realpath(name, NULL);
	struct stat state;

	if (!path || stat(path, &state) != 0 || !(S_ISBLK(state.st_mode) || S_ISREG(state.st_mode)))
		return NULL;

	*ret_is_device = S_ISBLK(state.st_mode);
	return g_steal_pointer(&path);
}

/* The loop device that is attached to the file @path, to be freed; NULL: none is. */
static char *loop_device_of(const char *path)
{
	g_autoptr(GDir) devices = g_dir_open("/sys/block", 0, NULL);
	const char *name;

	while (devices && (name = g_dir_read_name(devices))) {
		g_autofree char *directory = g_build_filename("/sys/block", name, NULL);
		g_autofree char *file = sysfs_attribute(directory, "loop/backing_file");

		if (g_strcmp0(file, path) == 0)
			return g_build_filename("/dev", name, NULL);
	}
	return NULL;
}

/* The mount point of a filesystem with the @uuid in its superblock; NULL: none. */
static const MountedFilesystem *find_mounted(const MountTable *mounts, const char *uuid)
{
	const GPtrArray *all = mount_table_filesystems(mounts);
	char of_superblock[FS_UUID_TEXT_BYTES];

	for (guint i = 0; i < all->len; i++) {
		const MountedFilesystem *mounted = all->pdata[i];

		fs_uuid_format(mounted->identity.superblock_uuid, of_superblock);
		if (mounted->uuid[0] != '\0' && g_strcmp0(uuid, of_superblock) == 0)
			return mounted;
	}
	return NULL;
}

/* The unmounted device that goes by the tag or UUID @name, to be freed; NULL: none does. */
static char *unmounted_device(const GPtrArray *all, const char *name)
{
	for (guint i = 0; i < all->len; i++) {
		const UnmountedDevice *device = all->pdata[i];
		g_auto(GStrv) names = unmounted_device_names(all, device);

		if (g_strv_contains((const char *const *)names, name))
			return g_strdup(device->path);
	}
	return NULL;
}

/* The devices with the UUID of @device, also if it is none of @all. */
static char **devices_like(const GPtrArray *all, const char *device, const DeviceContents *contents)
{
	g_auto(GStrv) found = unmounted_devices_with(all, contents->uuid ? contents->uuid : "");
	g_autoptr(GStrvBuilder) devices = g_strv_builder_new();

	g_strv_builder_addv(devices, (const char **)found);
	if (!g_strv_contains((const char *const *)found, device))
		g_strv_builder_add(devices, device);
	return g_strv_builder_end(devices);
}

/* Describe what @device holds, which may be an image.  Returns false if it is a file of another kind. */
static bool look_at_device(const MountTable *mounts, const GPtrArray *unmounted, const char *device,
			   bool is_image, Findings *findings)
{
	g_auto(DeviceContents) contents = { 0 };
	g_autoptr(GError) failed = NULL;

	if (!device_contents_read(device, &contents, &failed)) {
		if (is_image && !g_error_matches(failed, G_FILE_ERROR, G_FILE_ERROR_INVAL))
			return false;
		findings_set_subject(findings, device);
		findings_add(findings, FINDING_ERROR, "device",
			     "'wipefs' lists the signatures on it, and 'dmesg' the errors of disks",
			     "%s", failed->message);
		return true;
	}
	if (is_image && !device_contents_are_supported(&contents))
		return false;

	const MountedFilesystem *mounted = find_mounted(mounts, contents.uuid);
	const MountPoint *first = mounted ? mounted->mount_points->pdata[0] : NULL;
	g_auto(GStrv) like = devices_like(unmounted, device, &contents);
	doctor_look_at_device(device, &contents, like, first ? first->target : NULL, findings);
	return true;
}

/* Look at a device, or an image, that need not be mounted.  Returns false if @name is neither. */
static bool look_at_storage(const DoctorView *view, const MountTable *mounts, const char *name,
			    const Options *options, Findings *findings)
{
	bool is_device = false;
	g_autofree char *path = device_or_file(name, &is_device);
	g_autofree char *loop = path && !is_device ? loop_device_of(path) : NULL;
	const char *device = loop ? loop : path;
	const MountedFilesystem *mounted = device ? mount_table_find_name(mounts, device) : NULL;

	if (mounted) {
		look_at_filesystem(view, mounts, mounted, options, findings);
		return true;
	}

	/* A directory, or a mounted filesystem. */
	if (!device && (access(name, F_OK) == 0 || mount_table_find_uuid(mounts, name)))
		return false;

	g_autoptr(GPtrArray) unmounted = unmounted_devices_find();
	g_autofree char *tagged = device ? NULL : unmounted_device(unmounted, name);
	if (tagged)
		device = tagged;
	return device &&
	       look_at_device(mounts, unmounted, device, path && !is_device && !loop, findings);
}

static void look_at_named(const DoctorView *view, const MountTable *mounts, const char *name,
			  const Options *options, Findings *findings)
{
	g_autofree char *why = NULL;
	const MountedFilesystem *filesystem;

	if (look_at_storage(view, mounts, name, options, findings))
		return;

	filesystem = find_named(mounts, name, &why);
	if (filesystem) {
		look_at_filesystem(view, mounts, filesystem, options, findings);
		return;
	}

	findings_set_subject(findings, name);
	findings_add(findings, FINDING_ERROR, "mount",
		     "name a mount point, a UUID or a device of a btrfs or XFS filesystem", "%s",
		     why);
}

/* @faulty is what is wrong with it, if it is NULL. */
static void look_at_configuration(const Config *config, const GError *faulty,
				  const MountTable *mounts, Findings *findings)
{
	if (!config) {
		findings_add(findings, FINDING_ERROR, "configuration",
			     "'dedupctl config --check' lists all errors", "%.*s",
			     (int)strcspn(faulty->message, "\n"), faulty->message);
		return;
	}

	g_autoptr(GPtrArray) all = missing_names_find(config, mounts);
	for (guint i = 0; i < all->len; i++) {
		const MissingName *name = all->pdata[i];

		findings_add(findings, name->is_mistake ? FINDING_WARNING : FINDING_NOTE,
			     "configuration", name->advice, "%s", name->text);
	}
}

static Findings *look_at_all(const Options *options, GError **error)
{
	DoctorView view = view_of_system();
	g_autoptr(GError) faulty = NULL;
	g_autoptr(Config) config = config_read_chosen(options->config, &faulty);
	g_autoptr(MountTable) mounts = mount_table_read(NULL, NULL, NULL, error);
	g_autoptr(DaemonClient) client = daemon_client_connect(NULL);
	g_autoptr(Findings) findings = findings_new();

	if (!mounts)
		return NULL;

	view.config = config;
	doctor_look_at_machine(&view, client, findings);
	look_at_configuration(config, faulty, mounts, findings);
	for (char **name = options->names; name && *name; name++)
		look_at_named(&view, mounts, *name, options, findings);
	if (options->names)
		return g_steal_pointer(&findings);

	const GPtrArray *all = mount_table_filesystems(mounts);
	for (size_t i = 0; i < all->len; i++)
		look_at_filesystem(&view, mounts, all->pdata[i], options, findings);
	if (all->len == 0)
		findings_add(findings, FINDING_ERROR, "mount",
			     "dedupd works on mounted btrfs and XFS filesystems",
			     "no btrfs or XFS filesystem is mounted");
	return g_steal_pointer(&findings);
}

static void add_row(Table *table, const Finding *finding)
{
	table_add_row(table);
	table_set_text(table, DOCTOR_LEVEL, finding_level_name(finding->level));
	table_set_escaped(table, DOCTOR_SUBJECT, finding->subject);
	table_set_text(table, DOCTOR_CHECK, finding->check);
	table_set_escaped(table, DOCTOR_EVIDENCE, finding->evidence);
	table_set_text(table, DOCTOR_ADVICE, finding->advice);
}

static void print_table(const GPtrArray *all, const Options *options)
{
	g_autoptr(Table) table = table_new_asked(&table_of_doctor, options);

	for (size_t i = 0; i < all->len; i++)
		add_row(table, all->pdata[i]);
	table_print(table);
}

/* By subject, a line each, with what to do below it. */
static void print_for_people(const GPtrArray *all)
{
	const char *subject = NULL;

	for (size_t i = 0; i < all->len; i++) {
		const Finding *finding = all->pdata[i];
		g_autofree char *where = message_terminal_text(finding->subject);
		g_autofree char *evidence = message_terminal_text(finding->evidence);

		if (g_strcmp0(subject, finding->subject) != 0)
			printf("%s%s\n", subject ? "\n" : "", where);
		subject = finding->subject;
		printf("  %-8s %-14s %s\n", finding_level_name(finding->level), finding->check,
		       evidence);
		if (finding->advice)
			printf("  %-8s %-14s => %s\n", "", "", finding->advice);
	}
}

ExitStatus verb_doctor(const Options *options)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(Findings) findings = look_at_all(options, &error);

	if (!findings)
		return message_fail_error(error);

	if (options_are_for_programs(options))
		print_table(findings_all(findings), options);
	else
		print_for_people(findings_all(findings));

	switch (findings_worst(findings)) {
	case FINDING_ERROR:
		return EXIT_STATUS_FAILED;
	case FINDING_WARNING:
		return EXIT_STATUS_WARNED;
	default:
		return EXIT_STATUS_DONE;
	}
}
