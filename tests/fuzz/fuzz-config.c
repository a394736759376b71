/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* A file of the configuration. */
const char *const fuzz_seeds[] = {
	"[Dedupd]\nZeros=keep\nMinSize=4K\nMemory=8M\n",
	"[Filesystem /srv]\nExclude=*.tmp\nInclude=keep.tmp\nWindow=22:00-06:00 Mon-Fri,Sun\n",
	"[Filesystem 0fedcba9-8765-4321-0fed-cba987654321]\nEnable=no\nRunFor=1h 30min\n",
	"[Disk sda]\nReadRate=1.5G\nReadIOPS=none\nRotating=yes\n",
	"# a\n;b\n[x]\ny=z\n[Dedupd\n=\n",
	"[Dedupd]\nExclude=\nWindow=\nMinAge=9999999999w\n",
	NULL,
};

static void check(const Config *config)
{
	static const char *const names[] = { "/srv", "0fedcba9-8765-4321-0fed-cba987654321", "sda",
					     NULL };
	g_auto(Settings) settings = { 0 };
	DiskSettings disk;

	config_settings(config, names, &settings);
	g_assert_cmpuint(settings.memory_bytes, >=, SETTINGS_MEMORY_MIN_BYTES);
	g_assert_cmpuint(settings.anchor_blocks, <=, SETTINGS_ANCHOR_BLOCKS_MAX);
	g_assert_cmpuint(settings.zeros, <=, ZEROS_SHARE);
	config_disk_settings(config, names, &disk);
	g_assert_cmpuint(disk.rotating, <=, ROTATING_NO);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(Config) config = config_new();
	g_autoptr(GError) error = NULL;

	if (!config_add(config, "f", (const char *)data, size, &error)) {
		g_assert_nonnull(error);
		g_assert_true(g_str_has_prefix(error->message, "f:"));
	}
	/* Also of one that is wrong what is right holds. */
	check(config);
	return 0;
}
