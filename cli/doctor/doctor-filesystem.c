/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "common/mounts/mount-options.h"
#include "common/mounts/pattern-look.h"
#include "common/text/size-text.h"
#include "kernel-ioctl/call/fd.h"
#include "kernel-ioctl/file/directory.h"
#include "kernel-ioctl/file/file-stat.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* The number of names whose owners are examined, in the top directory and in those below it. */
#define NAMES_MOST 4096
/* Ids of human users, as adduser(8) assigns them. */
#define UID_FIRST  1000
#define UID_NOBODY 65534
/* The allowed difference between the clocks of machines that share a disk. */
#define FUTURE_USEC (INT64_C(60) * G_USEC_PER_SEC)

static const struct {
	FsKind kind;
	const char *option; /* its beginning */
	FindingLevel level;
	const char *evidence;
	const char *advice;
} known_options[] = {
	{ FS_KIND_BTRFS, "autodefrag", FINDING_WARNING,
	  "btrfs copies data out of shared extents again after writes to it",
	  "mount without autodefrag" },
	{ FS_KIND_BTRFS, "nodatacow", FINDING_WARNING,
	  "new files are overwritten in place: passes skip them, unless NoDataCow=share, which "
	  "slows down first writes to shared data",
	  "mount without nodatacow, and set it for the files that need it (chattr +C)" },
	{ FS_KIND_BTRFS, "nodatasum", FINDING_WARNING,
	  "new files have no checksums: passes must read all of them", "mount without nodatasum" },
	{ FS_KIND_BTRFS, "compress-force", FINDING_NOTE,
	  "all data is cut into extents of 128 KiB, which match as a whole only",
	  "mount with compress instead: it skips data that does not get smaller" },
	{ FS_KIND_XFS, "dax=always", FINDING_WARNING,
	  "passes skip files that are accessed directly (DAX)", "mount without dax=always" },
};

/* Whether @word is @option, with or without a value. */
static bool is_option(const char *word, const char *option)
{
	size_t length = strlen(option);

	return strncmp(word, option, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

static unsigned look_at_option(const char *word, FsKind kind, Findings *findings)
{
	unsigned n_found = 0;

	for (size_t i = 0; i < G_N_ELEMENTS(known_options); i++) {
		if (known_options[i].kind != kind || !is_option(word, known_options[i].option))
			continue;
		findings_add(findings, known_options[i].level, "options", known_options[i].advice,
			     "%s: %s", word, known_options[i].evidence);
		n_found++;
	}
	return n_found;
}

void doctor_look_at_options(const char *options, FsKind kind, Findings *findings)
{
	g_auto(GStrv) words = g_strsplit(options ? options : "", ",", -1);
	unsigned n_found = 0;

	for (char **word = words; *word; word++)
		n_found += look_at_option(*word, kind, findings);
	if (n_found == 0)
		findings_add(findings, FINDING_OK, "options", NULL, "none is in the way");

	if (kind == FS_KIND_XFS && mount_options_count_quota(options))
		findings_add(findings, FINDING_NOTE, "quota", NULL,
			     "shared blocks count for each owner: sharing relieves nobody's quota");
}

static void look_at_room(int directory_fd, Findings *findings)
{
	struct statvfs st;

	if (fstatvfs(directory_fd, &st) != 0 || st.f_blocks == 0)
		return;

	g_autofree char *left = size_text((uint64_t)st.f_bavail * st.f_frsize);
	g_autofree char *all = size_text((uint64_t)st.f_blocks * st.f_frsize);
	if (st.f_bavail < st.f_blocks / 100)
		findings_add(findings, FINDING_WARNING, "space",
			     "free some first: sharing writes metadata before it frees data",
			     "%s of %s are left", left, all);
	else
		findings_add(findings, FINDING_OK, "space", NULL, "%s of %s are left", left, all);
}

/* Statistics of names, in the top directory and one level below. */
typedef struct {
	GHashTable *users;
	unsigned n_names;
	int64_t newest_nsec;
} Names;

static void note_stat(Names *names, const FileStat *stat)
{
	names->newest_nsec = MAX(names->newest_nsec, stat->ctime_nsec);
	names->newest_nsec = MAX(names->newest_nsec, stat->mtime_nsec);
	if (stat->uid >= UID_FIRST && stat->uid != UID_NOBODY)
		g_hash_table_add(names->users, GUINT_TO_POINTER(stat->uid));
}

static void look_at_names(Names *names, Directory *directory, unsigned levels)
{
	g_autoptr(GError) ignored = NULL;
	const DirectoryEntry *entry;

	while (names->n_names < NAMES_MOST && directory_next(directory, &entry, &ignored) &&
	       entry) {
		g_autoptr(Directory) below = NULL;
		FileStat stat;
		int cause;

		names->n_names++;
		if (file_stat_at(directory_fd(directory), entry->name, &stat) != 0)
			continue;
		note_stat(names, &stat);
		if (levels > 0 && S_ISDIR(stat.mode) &&
		    directory_open_in(directory, entry->name, &below, &cause) == DIRECTORY_OPENED)
			look_at_names(names, below, levels - 1);
	}
}

static void report_owners(const Names *names, const OwnersPolicy *across_owners, Findings *findings)
{
	unsigned n_users = g_hash_table_size(names->users);

	if (across_owners && *across_owners == WITHIN_OWNERS)
		findings_add(findings, FINDING_OK, "owners", NULL, "AcrossOwners=no is set");
	else if (n_users >= 2)
		findings_add(findings, FINDING_NOTE, "owners",
			     "set AcrossOwners=no if users must not learn by timing that others "
			     "have the same data",
			     "%u users own some of the %u names that dedupctl looked at", n_users,
			     names->n_names);
	else
		findings_add(findings, FINDING_OK, "owners", NULL,
			     "%s owns any of the %u names that dedupctl looked at",
			     n_users == 1 ? "one user" : "no user", names->n_names);
}

static void report_stamps(const Names *names, const DoctorView *view, Findings *findings)
{
	if (names->newest_nsec / 1000 > view->now_usec + FUTURE_USEC)
		findings_add(findings, FINDING_WARNING, "stamps",
			     "set the clock, or 'touch' the files: each pass looks again at files "
			     "with future dates",
			     "there are files with change times in the future");
}

void doctor_look_at_files(int directory_fd, const DoctorView *view,
			  const OwnersPolicy *across_owners, Findings *findings)
{
	g_autoptr(GHashTable) users = g_hash_table_new(NULL, NULL);
	g_auto(Fd) own = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	Names names = { .users = users };

	look_at_room(directory_fd, findings);
	if (own < 0)
		return;

	g_autoptr(Directory) top = directory_new_take(fd_steal(&own), NULL);
	look_at_names(&names, top, 1);
	report_owners(&names, across_owners, findings);
	report_stamps(&names, view, findings);
}

void doctor_look_at_patterns(const char *mount_point, char *const *patterns, Findings *findings)
{
	for (; patterns && *patterns; patterns++) {
		bool is_include = **patterns == '!';
		const char *pattern = *patterns + is_include;

		if (!pattern_is_of_nothing(mount_point, pattern))
			continue;
		findings_add(findings, FINDING_WARNING, "patterns",
			     "a pattern with a slash begins at the mount point, or is an absolute "
			     "path below it: see Exclude= in dedupd.conf(5)",
			     "%s=%s matches nothing", is_include ? "Include" : "Exclude", pattern);
	}
}
