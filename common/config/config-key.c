/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config-key.h"

#include "common/config/disk-settings.h"
#include "common/config/policies.h"
#include "common/config/settings.h"
#include "common/text/word-list.h"

#include <string.h>

/* The sections of a key, and its place in Settings or DiskSettings. */
#define EVERYWHERE(member)                                                                         \
	.sections = CONFIG_DEDUPD | CONFIG_FILESYSTEM, .offset = offsetof(Settings, member)
#define OF_DISKS(member)                                                                           \
	.sections = CONFIG_DEDUPD | CONFIG_DISK, .offset = offsetof(DiskSettings, member)

/* A choice, or an additional word for @value; either with the default. */
#define CHOICE(names, name) .type = CONFIG_CHOICE, .words = names, .standard = name
#define WORD(name, value)   .word = name, .word_value = value, .standard = name

static const ConfigKey keys[] = {
	{
		.name = "Mode",
		EVERYWHERE(mode),
		CHOICE(mode_names, "resident"),
		.help = "Whether the service begins passes when something changed, or leaves that "
			"to a timer.",
	},
	{
		.name = "StateDirectory",
		.sections = CONFIG_DEDUPD,
		.offset = offsetof(Settings, state_directory),
		.type = CONFIG_PATH,
		WORD("auto", 0),
		.help = "Directory of root's hash stores; auto is the directory of the package.",
	},
	{
		.name = "MetricsFile",
		.sections = CONFIG_DEDUPD,
		.offset = offsetof(Settings, metrics_file),
		.type = CONFIG_PATH,
		WORD("none", 0),
		.help = "File to which root's passes and the service write metrics for Prometheus.",
	},
	{
		.name = "Memory",
		.option = "memory",
		.sections = CONFIG_DEDUPD,
		.offset = offsetof(Settings, memory_bytes),
		.type = CONFIG_BYTES,
		.standard = "64M",
		.form = "a size of at least 4M",
		.least = SETTINGS_MEMORY_MIN_BYTES,
		.help = "Memory for sorting, in each pass.",
	},
	{
		.name = "StoreLimit",
		.option = "store-limit",
		EVERYWHERE(store_limit_bytes),
		.type = CONFIG_BYTES,
		WORD("auto", SETTINGS_STORE_LIMIT_AUTO),
		.help = "Largest size of a filesystem's store; auto is 64M and 1/32 of the "
			"filesystem.",
	},
	{
		.name = "FleetKey",
		EVERYWHERE(fleet_key),
		.type = CONFIG_PATH,
		WORD("none", 0),
		.help = "File with the key that root's stores share with those of other machines.",
	},
	{
		.name = "Enable",
		.sections = CONFIG_FILESYSTEM,
		.offset = offsetof(Settings, enable),
		CHOICE(enable_policy_names, "yes"),
		.help = "Whether to deduplicate the filesystem when no path is given.",
	},
	{
		.name = "Exclude",
		EVERYWHERE(patterns),
		.type = CONFIG_EXCLUDE,
		.standard = "",
		.help = "Files to skip: one pattern per line; the last one that matches decides.",
	},
	{
		.name = "Include",
		EVERYWHERE(patterns),
		.type = CONFIG_INCLUDE,
		.standard = "",
		.help = "Files not to skip, although a pattern above matches them.",
	},
	{
		.name = "MinSize",
		.option = "min-size",
		EVERYWHERE(min_size_bytes),
		.type = CONFIG_BYTES,
		WORD("auto", SETTINGS_MIN_SIZE_UNSET),
		.help = "Smallest size of files; auto is 2K on btrfs and 1 on XFS where files are "
			"read.",
	},
	{
		.name = "MinRun",
		.option = "min-run",
		EVERYWHERE(min_run_bytes),
		.type = CONFIG_BYTES,
		.standard = "64K",
		.help = "Space that each additional piece of a file must free on btrfs.",
	},
	{
		.name = "MaxCompare",
		.option = "max-compare",
		EVERYWHERE(max_compare),
		.type = CONFIG_NUMBER,
		WORD("auto", SETTINGS_MAX_COMPARE_AUTO),
		.least = 1,
		.most = SETTINGS_MAX_COMPARE_MOST,
		.help = "Bytes compared per byte freed; auto is 16, or 4 on rotating disks.",
	},
	{
		.name = "Threads",
		.option = "threads",
		EVERYWHERE(threads),
		.type = CONFIG_NUMBER,
		WORD("auto", SETTINGS_THREADS_AUTO),
		.least = 1,
		.most = SETTINGS_THREADS_MOST,
		.help = "Threads that read and deduplicate at a time; auto is 1 on rotating disks.",
	},
	{
		.name = "MinAge",
		.option = "min-age",
		EVERYWHERE(min_age_usec),
		.type = CONFIG_DURATION,
		WORD("none", 0),
		.help = "Passes defer files that were written within this time.",
	},
	{
		.name = "Changing",
		.option = "changing",
		EVERYWHERE(changing),
		CHOICE(changing_policy_names, "wait"),
		.help = "Whether to read ever-changing files less and less often.",
	},
	{
		.name = "AcrossOwners",
		.option = "across-owners",
		EVERYWHERE(across_owners),
		CHOICE(owners_policy_names, "yes"),
		.help = "Whether to share data between files of different owners.",
	},
	{
		.name = "Zeros",
		.option = "zeros",
		EVERYWHERE(zeros),
		CHOICE(zeros_policy_names, "auto"),
		.help = "What to do with zero blocks.",
	},
	{
		.name = "Find",
		.option = "find",
		EVERYWHERE(find),
		CHOICE(find_policy_names, "auto"),
		.help = "How to find equal data on btrfs.",
	},
	{
		.name = "Read",
		.option = "read",
		EVERYWHERE(read),
		CHOICE(read_policy_names, "all"),
		.help = "Which files to read to find equal data.",
	},
	{
		.name = "ReadOnlySnapshots",
		.option = "read-only-snapshots",
		EVERYWHERE(read_only_snapshots),
		CHOICE(snapshot_policy_names, "auto"),
		.help = "What to do with read-only snapshots on btrfs.",
	},
	{
		.name = "NoDataCow",
		.option = "no-data-cow",
		EVERYWHERE(no_data_cow),
		CHOICE(no_cow_policy_names, "skip"),
		.help = "What to do with nodatacow files on btrfs.",
	},
	{
		.name = "Compressed",
		.option = "compressed",
		EVERYWHERE(compressed),
		CHOICE(compressed_policy_names, "sums"),
		.help = "How to find equal compressed data by checksums.",
	},
	{
		.name = "Rewrite",
		.option = "rewrite",
		EVERYWHERE(rewrite),
		CHOICE(rewrite_policy_names, "auto"),
		.help = "Which remainders of extents to copy so that btrfs frees these.",
	},
	{
		.name = "LimitRate",
		.option = "limit-rate",
		EVERYWHERE(rate_bytes),
		.type = CONFIG_BYTES,
		WORD("none", 0),
		.least = 1,
		.help = "Data that a pass may read and write per second, on each disk.",
	},
	{
		.name = "Window",
		EVERYWHERE(windows),
		.type = CONFIG_WINDOW,
		.standard = "",
		.help = "When passes may run: one window per line; at all times if there is none.",
	},
	{
		.name = "RunFor",
		.option = "run-for",
		EVERYWHERE(run_for_usec),
		.type = CONFIG_DURATION,
		WORD("none", 0),
		.help = "Longest time of a pass; the next one goes on.",
	},
	{
		.name = "WakeBytes",
		EVERYWHERE(wake_bytes),
		.type = CONFIG_BYTES,
		.standard = "64M",
		.help = "New data after which the service begins a pass at once.",
	},
	{
		.name = "WakeInterval",
		EVERYWHERE(wake_interval_usec),
		.type = CONFIG_DURATION,
		.standard = "1h",
		.help = "Time after which the service begins a pass for any change.",
	},
	{
		.name = "Sleeping",
		EVERYWHERE(sleeping),
		CHOICE(sleeping_policy_names, "respect"),
		.help = "Whether the service wakes a disk that was idle for long, outside of "
			"windows.",
	},
	{
		.name = "OnBattery",
		EVERYWHERE(on_battery),
		CHOICE(hardship_policy_names, "pause"),
		.help = "How the service acts while the machine runs on battery.",
	},
	{
		.name = "Degraded",
		EVERYWHERE(degraded),
		CHOICE(hardship_policy_names, "pause"),
		.help = "How the service acts while a filesystem or its disks are degraded.",
	},
	{
		.name = "AnchorBlocks",
		.option = "anchor-blocks",
		EVERYWHERE(anchor_blocks),
		.type = CONFIG_NUMBER,
		WORD("auto", SETTINGS_ANCHORS_UNSET),
		.least = 1,
		.most = SETTINGS_ANCHOR_BLOCKS_MAX,
		.help = "Blocks in an anchor; auto is the value of the store, at first 4 on btrfs "
			"and 2 on XFS.",
	},
	{
		.name = "AnchorWindow",
		.option = "window",
		EVERYWHERE(window_anchors),
		.type = CONFIG_NUMBER,
		WORD("auto", SETTINGS_ANCHORS_UNSET),
		.least = 2,
		.most = SETTINGS_WINDOW_ANCHORS_MAX,
		.help = "Positions per anchor; auto is the value of the store, at first 16 on "
			"btrfs and 8 on XFS.",
	},
	{
		.name = "ReadRate",
		OF_DISKS(read_rate_bytes),
		.type = CONFIG_BYTES,
		WORD("none", 0),
		.least = 1,
		.help = "Data that may be read of a disk per second, by all filesystems on it.",
	},
	{
		.name = "ReadIOPS",
		OF_DISKS(read_iops),
		.type = CONFIG_NUMBER,
		WORD("none", 0),
		.least = 1,
		.most = 10000000,
		.help = "Requests that may be made to a disk per second, by all filesystems on it.",
	},
	{
		.name = "Pressure",
		.option = "pressure",
		OF_DISKS(pressure),
		CHOICE(pressure_policy_names, "auto"),
		.help = "Whether to back off when others wait for a disk; auto: the "
			"service does.",
	},
	{
		.name = "Rotating",
		.option = "rotating",
		OF_DISKS(rotating),
		CHOICE(rotating_policy_names, "auto"),
		.help = "Whether a disk rotates; auto is what the kernel says.",
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
