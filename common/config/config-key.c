/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config-key.h"

#include "common/config/disk-settings.h"
#include "common/config/policies.h"
#include "common/config/settings.h"
#include "common/text/word-list.h"

#include <string.h>

#define EVERYWHERE      (CONFIG_DEDUPD | CONFIG_FILESYSTEM)
#define OF_DISKS        (CONFIG_DEDUPD | CONFIG_DISK)
#define AT(member)      .offset = offsetof(Settings, member)
#define ON_DISK(member) .offset = offsetof(DiskSettings, member)

static const ConfigKey keys[] = {
	{
		.name = "Mode",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "resident",
		.words = mode_names,
		.help = "Whether the service begins passes when something changed, or leaves that "
			"to a timer.",
		AT(mode),
	},
	{
		.name = "StateDirectory",
		.sections = CONFIG_DEDUPD,
		.type = CONFIG_PATH,
		.standard = "auto",
		.form = "auto or an absolute directory",
		.word = "auto",
		.help = "Where root keeps the hash stores; auto is where the package has it.",
		AT(state_directory),
	},
	{
		.name = "Memory",
		.option = "memory",
		.sections = CONFIG_DEDUPD,
		.type = CONFIG_BYTES,
		.standard = "64M",
		.form = "a size of at least 4M",
		.least = SETTINGS_MEMORY_MIN_BYTES,
		.help = "Memory for sorting, in each pass.",
		AT(memory_bytes),
	},
	{
		.name = "StoreLimit",
		.option = "store-limit",
		.sections = EVERYWHERE,
		.type = CONFIG_BYTES,
		.standard = "auto",
		.form = "auto or a size",
		.word = "auto",
		.word_value = SETTINGS_STORE_LIMIT_AUTO,
		.help = "How large the store of a filesystem may become; auto is 64M and 1/128 of "
			"the filesystem.",
		AT(store_limit_bytes),
	},
	{
		.name = "Enable",
		.sections = CONFIG_FILESYSTEM,
		.type = CONFIG_CHOICE,
		.standard = "yes",
		.words = enable_policy_names,
		.help = "Whether the filesystem is worked on when no path is given.",
		AT(enable),
	},
	{
		.name = "Exclude",
		.sections = EVERYWHERE,
		.type = CONFIG_EXCLUDE,
		.standard = "",
		.form = "a pattern as in gitignore",
		.help = "What is left alone: one pattern a line, the last that matches decides.",
		AT(patterns),
	},
	{
		.name = "Include",
		.sections = EVERYWHERE,
		.type = CONFIG_INCLUDE,
		.standard = "",
		.form = "a pattern as in gitignore",
		.help = "What is not left alone, though a pattern above has it.",
		AT(patterns),
	},
	{
		.name = "MinSize",
		.option = "min-size",
		.sections = EVERYWHERE,
		.type = CONFIG_BYTES,
		.standard = "auto",
		.form = "auto or a size",
		.word = "auto",
		.word_value = SETTINGS_MIN_SIZE_UNSET,
		.help = "Smaller files are left alone; auto is 2K on btrfs and 1 on XFS where "
			"files are read.",
		AT(min_size_bytes),
	},
	{
		.name = "MinRun",
		.option = "min-run",
		.sections = EVERYWHERE,
		.type = CONFIG_BYTES,
		.standard = "64K",
		.form = "a size",
		.help = "What each piece more of a file has to free on btrfs.",
		AT(min_run_bytes),
	},
	{
		.name = "MaxCompare",
		.option = "max-compare",
		.sections = EVERYWHERE,
		.type = CONFIG_NUMBER,
		.standard = "auto",
		.form = "auto or a number from 1 to 1000000",
		.least = 1,
		.most = SETTINGS_MAX_COMPARE_MOST,
		.word = "auto",
		.word_value = SETTINGS_MAX_COMPARE_AUTO,
		.help = "Bytes compared per byte freed on btrfs; auto is 16, or 4 on rotating "
			"disks.",
		AT(max_compare),
	},
	{
		.name = "Threads",
		.option = "threads",
		.sections = EVERYWHERE,
		.type = CONFIG_NUMBER,
		.standard = "auto",
		.form = "auto or a number from 1 to 64",
		.least = 1,
		.most = SETTINGS_THREADS_MOST,
		.word = "auto",
		.word_value = SETTINGS_THREADS_AUTO,
		.help = "Threads that read and deduplicate at a time; auto is 1 on rotating disks.",
		AT(threads),
	},
	{
		.name = "MinAge",
		.option = "min-age",
		.sections = EVERYWHERE,
		.type = CONFIG_DURATION,
		.standard = "none",
		.form = "none or a duration",
		.word = "none",
		.help = "Files that were written to within this time are left for a later pass.",
		AT(min_age_usec),
	},
	{
		.name = "Changing",
		.option = "changing",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "wait",
		.words = changing_policy_names,
		.help = "Whether files that always change are read ever more rarely.",
		AT(changing),
	},
	{
		.name = "AcrossOwners",
		.option = "across-owners",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "yes",
		.words = owners_policy_names,
		.help = "Whether data is shared between files of different owners.",
		AT(across_owners),
	},
	{
		.name = "Zeros",
		.option = "zeros",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = zeros_policy_names,
		.help = "What becomes of zero blocks.",
		AT(zeros),
	},
	{
		.name = "Find",
		.option = "find",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = find_policy_names,
		.help = "How equal data is found on btrfs.",
		AT(find),
	},
	{
		.name = "Read",
		.option = "read",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "all",
		.words = read_policy_names,
		.help = "Which files are read to find equal data.",
		AT(read),
	},
	{
		.name = "ReadOnlySnapshots",
		.option = "read-only-snapshots",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = snapshot_policy_names,
		.help = "What becomes of read-only snapshots on btrfs.",
		AT(read_only_snapshots),
	},
	{
		.name = "NoDataCow",
		.option = "no-data-cow",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "skip",
		.words = no_cow_policy_names,
		.help = "What becomes of nodatacow files on btrfs.",
		AT(no_data_cow),
	},
	{
		.name = "Compressed",
		.option = "compressed",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "sums",
		.words = compressed_policy_names,
		.help = "How equal compressed data is found by checksums.",
		AT(compressed),
	},
	{
		.name = "Rewrite",
		.option = "rewrite",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = rewrite_policy_names,
		.help = "Whether a small rest of an extent is copied to free it on btrfs.",
		AT(rewrite),
	},
	{
		.name = "LimitRate",
		.option = "limit-rate",
		.sections = EVERYWHERE,
		.type = CONFIG_BYTES,
		.standard = "none",
		.form = "none or a size",
		.least = 1,
		.word = "none",
		.help = "Data that a pass may read and write per second, on each disk.",
		AT(rate_bytes),
	},
	{
		.name = "Window",
		.sections = EVERYWHERE,
		.type = CONFIG_WINDOW,
		.standard = "",
		.form = "a time of the day, as 22:00-06:00, with weekdays, as Mon-Fri",
		.help = "When passes may run: one window a line; without any at all times.",
		AT(windows),
	},
	{
		.name = "RunFor",
		.option = "run-for",
		.sections = EVERYWHERE,
		.type = CONFIG_DURATION,
		.standard = "none",
		.form = "none or a duration",
		.word = "none",
		.help = "How long a pass may take; the next one goes on.",
		AT(run_for_usec),
	},
	{
		.name = "WakeBytes",
		.sections = EVERYWHERE,
		.type = CONFIG_BYTES,
		.standard = "64M",
		.form = "a size",
		.help = "New data that is worth a pass at once, to the service.",
		AT(wake_bytes),
	},
	{
		.name = "WakeInterval",
		.sections = EVERYWHERE,
		.type = CONFIG_DURATION,
		.standard = "1h",
		.form = "a duration",
		.help = "After how long any change is worth a pass, to the service.",
		AT(wake_interval_usec),
	},
	{
		.name = "Sleeping",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "respect",
		.words = sleeping_policy_names,
		.help = "Whether the service wakes a disk that was idle for long, outside of "
			"windows.",
		AT(sleeping),
	},
	{
		.name = "OnBattery",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "pause",
		.words = hardship_policy_names,
		.help = "What the service does while the machine runs on battery.",
		AT(on_battery),
	},
	{
		.name = "Degraded",
		.sections = EVERYWHERE,
		.type = CONFIG_CHOICE,
		.standard = "pause",
		.words = hardship_policy_names,
		.help = "What the service does while a filesystem or its disks are degraded.",
		AT(degraded),
	},
	{
		.name = "AnchorBlocks",
		.option = "anchor-blocks",
		.sections = EVERYWHERE,
		.type = CONFIG_NUMBER,
		.standard = "auto",
		.form = "auto or a number from 1 to 16",
		.least = 1,
		.most = SETTINGS_ANCHOR_BLOCKS_MAX,
		.word = "auto",
		.word_value = SETTINGS_ANCHORS_UNSET,
		.help = "Blocks in an anchor; auto is as the store has it, 4 on btrfs or 2 on XFS.",
		AT(anchor_blocks),
	},
	{
		.name = "AnchorWindow",
		.option = "window",
		.sections = EVERYWHERE,
		.type = CONFIG_NUMBER,
		.standard = "auto",
		.form = "auto or a number from 2 to 64",
		.least = 2,
		.most = SETTINGS_WINDOW_ANCHORS_MAX,
		.word = "auto",
		.word_value = SETTINGS_ANCHORS_UNSET,
		.help = "Positions of which one is an anchor; auto is the same, 16 or 8.",
		AT(window_anchors),
	},
	{
		.name = "ReadRate",
		.sections = OF_DISKS,
		.type = CONFIG_BYTES,
		.standard = "none",
		.form = "none or a size",
		.least = 1,
		.word = "none",
		.help = "Data that may be read of a disk per second, by all filesystems on it.",
		ON_DISK(read_rate_bytes),
	},
	{
		.name = "ReadIOPS",
		.sections = OF_DISKS,
		.type = CONFIG_NUMBER,
		.standard = "none",
		.form = "none or a number from 1 to 10000000",
		.least = 1,
		.most = 10000000,
		.word = "none",
		.help = "Requests that may be made to a disk per second, by all filesystems on it.",
		ON_DISK(read_iops),
	},
	{
		.name = "Pressure",
		.option = "pressure",
		.sections = OF_DISKS,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = pressure_policy_names,
		.help = "Whether to back off when others wait for a disk; auto: the "
			"service does.",
		ON_DISK(pressure),
	},
	{
		.name = "Rotating",
		.option = "rotating",
		.sections = OF_DISKS,
		.type = CONFIG_CHOICE,
		.standard = "auto",
		.words = rotating_policy_names,
		.help = "Whether a disk rotates; auto is what the kernel says.",
		ON_DISK(rotating),
	},
};

static const struct {
	const char *name;
	ConfigSection section;
} sections[] = {
	{ "Dedupd", CONFIG_DEDUPD },
	{ "Disk", CONFIG_DISK },
	{ "Filesystem", CONFIG_FILESYSTEM },
};

const ConfigKey *config_keys(size_t *ret_n)
{
	*ret_n = G_N_ELEMENTS(keys);
	return keys;
}

const ConfigKey *config_key_find(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
		if (strcmp(keys[i].name, name) == 0)
			return &keys[i];

	return NULL;
}

/* A key of @section with a similar name; NULL: none. */
static const ConfigKey *find_near(const char *name, ConfigSection section)
{
	const char *names[G_N_ELEMENTS(keys)];
	const char *near;
	size_t n = 0;

	/* A wrong case is nearer than one wrong letter. */
	for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
		if (!(keys[i].sections & section))
			continue;
		if (g_ascii_strcasecmp(keys[i].name, name) == 0)
			return &keys[i];
		names[n++] = keys[i].name;
	}

	near = nearest_word(name, names, n);
	return near ? config_key_find(near) : NULL;
}

bool config_key_is_list(const ConfigKey *key)
{
	return key->type == CONFIG_WINDOW || key->type == CONFIG_EXCLUDE ||
	       key->type == CONFIG_INCLUDE;
}

bool config_key_is_of_disk(const ConfigKey *key)
{
	return key->sections & CONFIG_DISK;
}

const char *config_section_name(ConfigSection section)
{
	for (size_t i = 0; i < G_N_ELEMENTS(sections); i++)
		if (sections[i].section == section)
			return sections[i].name;

	return "";
}

ConfigSection config_section_find(const char *name)
{
	for (size_t i = 0; i < G_N_ELEMENTS(sections); i++)
		if (strcmp(sections[i].name, name) == 0)
			return sections[i].section;

	return 0;
}

char *config_key_refusal(const char *name, ConfigSection section)
{
	const ConfigKey *key = config_key_find(name);
	const ConfigKey *near = find_near(name, section);
	GString *text = g_string_new(NULL);

	if (key && section == CONFIG_FILESYSTEM && strcmp(name, "ReadRate") == 0) {
		g_string_append(text, "use LimitRate= here, or ReadRate= in [Disk]");
	} else if (key) {
		g_string_append(text, "this key belongs to");
		for (unsigned one = CONFIG_DEDUPD; one <= CONFIG_FILESYSTEM; one <<= 1)
			if (key->sections & one)
				g_string_append_printf(text, " [%s%s]", config_section_name(one),
						       one == CONFIG_DEDUPD ? "" : " …");
	} else if (near) {
		g_string_append_printf(text, "unknown key, did you mean %s=?", near->name);
	} else {
		g_string_append(text, "unknown key: dedupd.conf(5) lists all of them");
	}

	return g_string_free(text, FALSE);
}
