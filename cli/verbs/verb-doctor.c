/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/missing-names.h"
#include "cli/client/daemon-client.h"
#include "cli/doctor/doctor.h"
#include "cli/settings/configuration.h"
#include "cli/terminal/message.h"
#include "cli/terminal/table.h"
#include "cli/verbs/verb.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum {
	DOCTOR_LEVEL,
	DOCTOR_SUBJECT,
	DOCTOR_CHECK,
	DOCTOR_EVIDENCE,
	DOCTOR_ADVICE,
};

static const TableColumn columns[] = {
	[DOCTOR_LEVEL] = { "LEVEL", "level", COLUMN_TEXT },
	[DOCTOR_SUBJECT] = { "WHERE", "subject", COLUMN_TEXT },
	[DOCTOR_CHECK] = { "CHECK", "check", COLUMN_TEXT },
	[DOCTOR_EVIDENCE] = { "FOUND", "evidence", COLUMN_TEXT },
	[DOCTOR_ADVICE] = { "WHAT TO DO", "advice", COLUMN_TEXT_CUT },
};

const TableKind table_of_doctor = { "findings", columns, G_N_ELEMENTS(columns), "dedupctl-doctor",
				    1 };

static DoctorView view_of_system(void)
{
	return (DoctorView){
		"/proc", "/sys", "/etc/systemd/system", "/dev", g_get_real_time(), NULL
	};
}

/* Its files, and what the configuration says of them.  A faulty one is found once, for the machine. */
static void look_at_files(int fd, const DoctorView *view, const MountedFilesystem *filesystem,
			  const char *way, Findings *findings)
{
	g_auto(GStrv) names = mounted_filesystem_names(filesystem);
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

/* Two with one UUID in their superblocks. */
static void look_at_twin(const MountTable *mounts, const MountedFilesystem *filesystem,
			 Findings *findings)
{
	const MountedFilesystem *other = mount_table_find_twin(mounts, filesystem);

	if (filesystem->uuid[0] == '\0' || !other)
		return;

	const MountPoint *first = other->mount_points->pdata[0];
	if (fs_identity_is_copy(&filesystem->identity))
		findings_add(findings, FINDING_NOTE, "copy",
			     "name it by its mount point or its device; in a snapshot of a volume, "
			     "sharing takes room of the snapshot",
			     "its superblock has the UUID of %s: dedupd knows it by %s, and keeps "
			     "another store for it",
			     first->target, filesystem->uuid);
	else
		findings_add(findings, FINDING_NOTE, "copy", NULL,
			     "the superblock of %s has its UUID: dedupd knows that by %s",
			     first->target, other->uuid);
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
	look_at_twin(mounts, filesystem, findings);
	if (uname(&system) == 0)
		doctor_look_at_kernel(system.release, filesystem->identity.kind, findings);
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

	*ret_why = found ? NULL : g_strdup("it is of no btrfs or XFS that is mounted");
	return found;
}

static void look_at_named(const DoctorView *view, const MountTable *mounts, const char *name,
			  const Options *options, Findings *findings)
{
	g_autofree char *why = NULL;
	const MountedFilesystem *filesystem = find_named(mounts, name, &why);

	if (filesystem) {
		look_at_filesystem(view, mounts, filesystem, options, findings);
		return;
	}

	findings_set_subject(findings, name);
	findings_add(findings, FINDING_ERROR, "mount",
		     "name a mount point of a btrfs or an XFS, or its UUID", "%s", why);
}

/* @faulty is what is wrong with it, if it is NULL. */
static void look_at_configuration(const Config *config, const GError *faulty,
				  const MountTable *mounts, Findings *findings)
{
	if (!config) {
		findings_add(findings, FINDING_ERROR, "configuration",
			     "'dedupctl config --check' lists all that is wrong", "%.*s",
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
	g_autoptr(Config) config = configuration_read(options, &faulty);
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
			     "dedupd works on btrfs and on XFS, where they are mounted",
			     "no btrfs and no XFS is mounted");
	return g_steal_pointer(&findings);
}

static void add_row(Table *table, const Finding *finding)
{
	g_autofree char *subject = message_text(finding->subject);
	g_autofree char *evidence = message_text(finding->evidence);

	table_add_row(table);
	table_set_text(table, DOCTOR_LEVEL, finding_level_name(finding->level));
	table_set_text(table, DOCTOR_SUBJECT, subject);
	table_set_text(table, DOCTOR_CHECK, finding->check);
	table_set_text(table, DOCTOR_EVIDENCE, evidence);
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

	if (!findings) {
		message_print_error(error);
		return EXIT_STATUS_FAILED;
	}

	if (options->json || options->columns || options->raw || options->no_headings)
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
