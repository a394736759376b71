/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/config/config.h"

#include "common/config/config-value.h"
#include "common/config/time-window.h"
#include "tests/unit/scratch.h"

#include <string.h>

#define UUID "0fedcba9-8765-4321-0fed-cba987654321"

static Config *config_of(const char *text)
{
	Config *config = config_new();
	g_autoptr(GError) error = NULL;

	if (!config_add(config, "/etc/x.conf", text, strlen(text), &error))
		g_error("%s", error->message);
	return config;
}

static void test_nothing_said_is_the_defaults(void)
{
	g_autoptr(Config) config = config_new();
	g_auto(Settings) settings = { 0 };
	DiskSettings disk;

	config_settings(config, NULL, &settings);
	g_assert_null(settings.state_directory);
	g_assert_null(settings.patterns);
	g_assert_null(settings.windows);
	g_assert_cmpuint(settings.memory_bytes, ==, SETTINGS_MEMORY_BYTES);
	g_assert_cmpuint(settings.min_run_bytes, ==, SETTINGS_MIN_RUN_BYTES);
	g_assert_cmpuint(settings.min_size_bytes, ==, SETTINGS_MIN_SIZE_UNSET);
	g_assert_cmpuint(settings.store_limit_bytes, ==, SETTINGS_STORE_LIMIT_AUTO);
	g_assert_cmpuint(settings.anchor_blocks, ==, SETTINGS_ANCHORS_UNSET);
	g_assert_cmpuint(settings.window_anchors, ==, SETTINGS_ANCHORS_UNSET);
	g_assert_cmpuint(settings.rate_bytes, ==, 0);
	g_assert_cmpuint(settings.min_age_usec, ==, 0);
	g_assert_cmpuint(settings.run_for_usec, ==, 0);
	g_assert_cmpint(settings.zeros, ==, ZEROS_AUTO);
	g_assert_cmpint(settings.find, ==, FIND_AUTO);
	g_assert_cmpint(settings.across_owners, ==, ACROSS_OWNERS);
	g_assert_cmpint(settings.enable, ==, ENABLE_YES);

	config_disk_settings(config, NULL, &disk);
	g_assert_cmpuint(disk.read_rate_bytes, ==, 0);
	g_assert_cmpuint(disk.read_iops, ==, 0);
	g_assert_cmpint(disk.pressure, ==, PRESSURE_AUTO);
	g_assert_cmpint(disk.rotating, ==, ROTATING_AUTO);
}

static void test_every_key_has_a_default_that_is_taken_and_is_set_by_it(void)
{
	size_t n;
	const ConfigKey *keys = config_keys(&n);

	g_assert_cmpuint(n, >, 20);
	for (size_t i = 0; i < n; i++) {
		g_auto(Settings) settings = { 0 };
		DiskSettings disk = { 0 };
		g_autofree char *form = config_value_form(&keys[i]);

		config_value_set_standard(&keys[i], config_key_is_of_disk(&keys[i])
							    ? (void *)&disk
							    : (void *)&settings);
		g_assert_true(config_key_find(keys[i].name) == &keys[i]);
		g_assert_nonnull(form);
		g_assert_true(g_str_has_suffix(keys[i].help, "."));
		g_assert_cmpuint(strlen(keys[i].help), <, 90);
	}
}

static void test_what_is_said_of_one_filesystem_is_stronger(void)
{
	g_autoptr(Config) config =
		config_of("[Filesystem /srv]\nZeros=hole\n"
			  "[Dedupd]\nZeros=keep\nMinSize=1M\nMinSize = 2M\n"
			  "[Filesystem /srv/]\nMinRun=8K\n"
			  "[Filesystem /home]\nZeros=auto\n"
			  "[Filesystem 0FEDCBA9-8765-4321-0fed-cba987654321]\nCompressed=read\n"
			  "AcrossOwners=off\n");
	const char *const names[] = { "/srv", UUID, NULL };
	const char *const home[] = { "/home", NULL };
	g_auto(Settings) settings = { 0 };
	g_auto(Settings) other = { 0 };

	config_settings(config, names, &settings);
	g_assert_cmpint(settings.zeros, ==, ZEROS_HOLE);
	g_assert_cmpuint(settings.min_size_bytes, ==, 2 << 20);
	g_assert_cmpuint(settings.min_run_bytes, ==, 8 << 10);
	g_assert_cmpint(settings.compressed, ==, COMPRESSED_READ);
	g_assert_cmpint(settings.across_owners, ==, WITHIN_OWNERS);

	config_settings(config, home, &other);
	g_assert_cmpint(other.zeros, ==, ZEROS_AUTO);
	g_assert_cmpuint(other.min_run_bytes, ==, SETTINGS_MIN_RUN_BYTES);
	g_assert_cmpint(other.compressed, ==, COMPRESSED_SUMS);
}

static void test_lists_grow_until_they_are_emptied(void)
{
	g_autoptr(Config) config = config_of("[Filesystem /srv]\nInclude=keep.tmp\n"
					     "Window=Sun\n"
					     "[Dedupd]\nExclude=*.tmp\nExclude=a b\n"
					     "Window=22:00-06:00\n"
					     "[Filesystem /home]\nExclude=\nExclude=x\nWindow=\n");
	const char *const srv[] = { "/srv", NULL };
	const char *const home[] = { "/home", NULL };
	g_auto(Settings) settings = { 0 };
	g_auto(Settings) other = { 0 };

	config_settings(config, srv, &settings);
	g_assert_cmpstr(settings.patterns[0], ==, "*.tmp");
	g_assert_cmpstr(settings.patterns[1], ==, "a b");
	g_assert_cmpstr(settings.patterns[2], ==, "!keep.tmp");
	g_assert_null(settings.patterns[3]);
	g_assert_cmpuint(settings.windows->len, ==, 2);

	config_settings(config, home, &other);
	g_assert_cmpstr(other.patterns[0], ==, "x");
	g_assert_null(other.patterns[1]);
	g_assert_null(other.windows);
}

static void test_disks_have_settings(void)
{
	g_autoptr(Config) config = config_of("[Dedupd]\nReadRate=100M\nPressure=off\n"
					     "[Disk /dev/sda]\nReadIOPS=150\nRotating=yes\n"
					     "[Disk ata-X_1]\nReadRate=none\n");
	const char *const sda[] = { "sda", NULL };
	const char *const other[] = { "sdb", "ata-X_1", NULL };
	DiskSettings disk;

	config_disk_settings(config, sda, &disk);
	g_assert_cmpuint(disk.read_rate_bytes, ==, 100 << 20);
	g_assert_cmpuint(disk.read_iops, ==, 150);
	g_assert_cmpint(disk.rotating, ==, ROTATING_YES);
	g_assert_cmpint(disk.pressure, ==, PRESSURE_OFF);
	config_disk_settings(config, other, &disk);
	g_assert_cmpuint(disk.read_rate_bytes, ==, 0);
	g_assert_cmpuint(disk.read_iops, ==, 0);
}

static void test_what_is_wrong_is_refused_by_file_line_section_and_key(void)
{
	static const struct {
		const char *text;
		const char *said[4];
	} cases[] = {
		{ "\n# x\n[Dedupd]\nZeross=keep\n",
		  { "/etc/x.conf:4: [Dedupd] Zeross=: ", "did you mean Zeros=?" } },
		{ "[Dedupd]\nzeros=keep\n", { ":2: [Dedupd] zeros=: ", "Zeros=?" } },
		{ "[Dedupd]\nColour=red\n", { ":2: [Dedupd] Colour=: ", "dedupd.conf(5)" } },
		{ "[Dedupd]\nEnable=yes\n", { "Enable=: ", "belongs to [Filesystem …]" } },
		{ "[Filesystem /srv]\nMemory=1G\n", { "[Filesystem /srv] Memory=: ", "[Dedupd]" } },
		{ "[Filesystem /srv]\nReadRate=1M\n",
		  { "[Filesystem /srv] ReadRate=: ",
		    "use LimitRate= here, or ReadRate= in [Disk]" } },
		{ "[Disk sda]\nZeros=keep\n",
		  { "[Disk sda] Zeros=: ", "[Dedupd] [Filesystem …]" } },
		{ "[Dedupd]\nZeros=hol\n",
		  { "Zeros=: ", "\"hol\"", "did you mean hole?", "auto, hole, keep or share" } },
		{ "[Dedupd]\nZeros=purple\n", { "\"purple\"", "auto, hole, keep or share" } },
		{ "[Dedupd]\nZeros=\n", { "missing", "auto, hole, keep or share" } },
		{ "[Dedupd]\nZeros=keep # x\n", { "\"keep # x\"", "auto, hole, keep or share" } },
		{ "[Dedupd]\nMemory=1M\n", { "Memory=: ", "too small", "at least 4M" } },
		{ "[Dedupd]\nMemory=lots\n", { "Memory=: ", "\"lots\"", "64K" } },
		{ "[Dedupd]\nLimitRate=0\n", { "LimitRate=: ", "too small", "none or a size" } },
		{ "[Dedupd]\nMinAge=5\n", { "MinAge=: ", "unit", "30min" } },
		{ "[Dedupd]\nWindow=25:00-26:00\n", { "Window=: ", "22:00-06:00" } },
		{ "[Dedupd]\nAnchorBlocks=17\n", { "AnchorBlocks=: ", "\"17\"", "1 to 16" } },
		{ "[Dedupd]\nAnchorBlocks=-1\n", { "\"-1\"", "1 to 16" } },
		{ "[Disk sda]\nReadIOPS=x\n", { "ReadIOPS=: ", "\"x\"", "1 to 10000000" } },
		{ "[Dedupd]\nStateDirectory=state\n", { "\"state\"", "absolute" } },
		{ "[Dedupd]\nExclude=*.iso,*.tmp\n",
		  { ":2: [Dedupd] Exclude=: ", "one pattern in a line", "[,]" } },
		{ "[Dedupd]\nExclude=*.iso # disks\n",
		  { ":2: [Dedupd] Exclude=: ", "a line of its own", "[#]" } },
		{ "[Dedupd]\nInclude=a\t; b\n",
		  { ":2: [Dedupd] Include=: ", "a line of its own", "[;]" } },
		{ "[Dedupd]\nInclude=!x\n", { "Include=: ", "!" } },
		{ "[Dedupd]\nAcrossOwners=maybe\n", { "\"maybe\"", "yes or no" } },
		{ "Zeros=keep\n", { ":1: Zeros=: ", "[Dedupd]?" } },
		{ "[Dedup]\n", { ":1: ", "[Dedup] is unknown", "did you mean [Dedupd]?" } },
		{ "[Strange]\n", { ":1: ", "[Strange] is unknown", "[Filesystem UUID]" } },
		{ "[]\n", { ":1: ", "[] is unknown" } },
		{ "[Dedupd x]\n", { ":1: ", "takes no name" } },
		{ "[Filesystem]\n", { ":1: ", "mount point" } },
		{ "[Filesystem srv]\n", { ":1: ", "mount point", "LABEL=" } },
		{ "[Filesystem LABEL=]\n", { ":1: ", "mount point" } },
		{ "[Filesystem UUID=LABEL=x]\n", { ":1: ", "mount point" } },
		{ "[Filesystem UUID=/srv]\n", { ":1: ", "mount point" } },
		{ "[Filesystem 0fedcba9-8765-4321-0fed-cba98765432x]\n", { "UUID" } },
		{ "[Disk]\n", { ":1: ", "sda" } },
		{ "[Disk a/b]\n", { ":1: ", "by-id" } },
		{ "[Filesystem \"/srv\"]\n", { ":1: ", "without quotation marks" } },
		{ "[Disk 'sda']\n", { ":1: ", "without quotation marks" } },
		{ "[Dedupd\n", { ":1: ", "]" } },
		{ "[Dedupd]\nZeros\n", { ":2: [Dedupd] ", "KEY=VALUE" } },
		{ "[Dedupd]\n=keep\n", { ":2: ", "KEY=VALUE" } },
		{ "[Dedupd]\n\033[2J=1\n", { ":2: ", "\\e" } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Config) config = config_new();
		g_autoptr(GError) error = NULL;

		if (config_add(config, "/etc/x.conf", cases[i].text, strlen(cases[i].text), &error))
			g_error("%s was taken", cases[i].text);
		g_assert_true(g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_WRONG));
		for (size_t j = 0; j < 4 && cases[i].said[j]; j++)
			if (!strstr(error->message, cases[i].said[j]))
				g_error("%s: %s lacks %s", cases[i].text, error->message,
					cases[i].said[j]);
		g_assert_null(strchr(error->message, '\n'));
		g_assert_null(strchr(error->message, '\033'));
	}
}

static void test_all_that_is_wrong_is_said_at_once(void)
{
	static const char text[] =
		"[Dedupd]\nA=1\nZeros=keep\nB=2\n[Strange]\nC=3\n[Dedupd]\nD=4\n";
	g_autoptr(Config) config = config_new();
	g_autoptr(GError) error = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_false(config_add(config, "f", text, strlen(text), &error));
	lines = g_strsplit(error->message, "\n", -1);
	/* Not C: its owner is not known. */
	g_assert_cmpuint(g_strv_length(lines), ==, 4);
	g_assert_true(g_str_has_prefix(lines[0], "f:2: "));
	g_assert_true(g_str_has_prefix(lines[1], "f:4: "));
	g_assert_true(g_str_has_prefix(lines[2], "f:5: "));
	g_assert_true(g_str_has_prefix(lines[3], "f:8: "));
}

static void test_files_of_bytes_are_read_to_their_end(void)
{
	static const char text[] =
		"[Dedupd]\r\n  Exclude = \xff a\t\r\n;x\n\n[ Disk   sda ]\n\0\nx";
	g_autoptr(Config) config = config_new();
	g_autoptr(GError) error = NULL;
	const ConfigEntry *entry;

	g_assert_false(config_add(config, "f", text, sizeof(text) - 1, &error));
	g_assert_nonnull(strstr(error->message, "f:6: [Disk sda] there is a NUL"));
	g_assert_nonnull(strstr(error->message, "\nf:7: "));
	entry = config_entries(config)->pdata[1];
	g_assert_cmpstr(entry->text, ==, "\xff a");
	entry = config_entries(config)->pdata[2];
	g_assert_cmpstr(entry->name, ==, "sda");
	g_assert_cmpuint(entry->line, ==, 5);
}

static void test_every_value_tells_where_it_comes_from(void)
{
	g_autoptr(Config) config = config_of("[Dedupd]\nZeros=keep\nExclude=a\n"
					     "[Filesystem /srv]\nZeros=hole\nInclude=b\nExclude=c\n"
					     "[Filesystem /home]\nInclude=\n");
	const char *const srv[] = { "/srv", NULL };
	const char *const home[] = { "/home", NULL };
	const char *const var[] = { "/var", NULL };
	static const struct {
		const char *key;
		const char *name;
		unsigned lines[3];
	} cases[] = {
		{ "Zeros", "/srv", { 5 } },   { "Zeros", "/home", { 2 } },
		{ "Zeros", "/var", { 2 } },   { "Exclude", "/srv", { 3, 7 } },
		{ "Include", "/srv", { 6 } }, { "Exclude", "/home", { 0 } },
		{ "Exclude", "/var", { 3 } }, { "MinSize", "/srv", { 0 } },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		const char *const *names = g_strv_contains(srv, cases[i].name)    ? srv
					   : g_strv_contains(home, cases[i].name) ? home
										  : var;
		g_autoptr(GPtrArray) origins = config_origins(config, CONFIG_FILESYSTEM, names,
							      config_key_find(cases[i].key));
		size_t n = 0;

		while (cases[i].lines[n])
			n++;
		g_assert_cmpuint(origins->len, ==, n);
		for (size_t j = 0; j < n; j++)
			g_assert_cmpuint(((ConfigEntry *)origins->pdata[j])->line, ==,
					 cases[i].lines[j]);
	}
}

static void write_file(const char *directory, const char *name, const char *text)
{
	g_autofree char *path = g_build_filename(directory, name, NULL);
	g_autofree char *parent = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void test_drop_ins_are_read_as_systemd_reads_them(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	const char *directory = scratch->path;
	g_autofree char *file = g_build_filename(directory, "etc.conf", NULL);
	g_autofree char *etc = g_build_filename(directory, "etc", NULL);
	g_autofree char *run = g_build_filename(directory, "run", NULL);
	g_autofree char *lib = g_build_filename(directory, "lib", NULL);
	g_autofree char *none = g_build_filename(directory, "none", NULL);
	const char *const directories[] = { etc, none, run, lib, NULL };
	const ConfigPlaces places = { file, directories };
	g_auto(Settings) settings = { 0 };
	g_autoptr(GError) error = NULL;
	g_autoptr(Config) config = NULL;

	write_file(directory, "etc.conf", "[Dedupd]\nExclude=main\nMinRun=1K\n");
	write_file(lib, "10-a.conf", "[Dedupd]\nExclude=lib-10\n");
	write_file(lib, "20-b.conf", "[Dedupd]\nExclude=lib-20\n");
	write_file(lib, "40-d.conf", "[Dedupd]\nNonsense=1\n");
	write_file(run, "20-b.conf", "[Dedupd]\nExclude=run-20\n");
	write_file(run, "30-c.conf", "[Dedupd]\nExclude=run-30\nMinRun=3K\n");
	write_file(etc, "20-b.conf", "[Dedupd]\nExclude=etc-20\nMinRun=2K\n");
	write_file(etc, "40-d.conf", ""); /* hides the other one */
	write_file(etc, "50-e.config", "Nonsense\n");
	write_file(etc, ".60-f.conf", "Nonsense\n");

	config = config_read(&places, &error);
	g_assert_no_error(error);
	config_settings(config, NULL, &settings);
	{
		g_autofree char *all = g_strjoinv(" ", settings.patterns);

		g_assert_cmpstr(all, ==, "main lib-10 etc-20 run-30");
	}
	g_assert_cmpuint(settings.min_run_bytes, ==, 3 << 10);
}

static void test_what_cannot_be_read_is_an_error(void)
{
	g_autoptr(Scratch) scratch = scratch_new();
	const char *directory = scratch->path;
	g_autofree char *file = g_build_filename(directory, "x.conf", NULL);
	const char *const directories[] = { NULL };
	const char *const files[] = { file, NULL };
	const ConfigPlaces nowhere = { file, directories };
	const ConfigPlaces odd = { "/nowhere", files };
	g_autoptr(Config) config = NULL;
	g_autoptr(GError) error = NULL;

	/* A file requested by name must exist. */
	g_assert_null(config_read_file(file, &error));
	g_assert_true(g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_FILE));
	g_assert_nonnull(strstr(error->message, file));
	g_clear_error(&error);
	config = config_read(&nowhere, &error);
	g_assert_no_error(error);
	g_assert_cmpuint(config_entries(config)->len, ==, 0);

	/* A file where a directory should be. */
	write_file(directory, "x.conf", "");
	g_assert_null(config_read(&odd, &error));
	g_assert_true(g_error_matches(error, CONFIG_ERROR, CONFIG_ERROR_FILE));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/config/nothing-said-is-the-defaults", test_nothing_said_is_the_defaults);
	g_test_add_func("/config/every-key-has-a-default-that-is-taken-and-is-set-by-it",
			test_every_key_has_a_default_that_is_taken_and_is_set_by_it);
	g_test_add_func("/config/what-is-said-of-one-filesystem-is-stronger",
			test_what_is_said_of_one_filesystem_is_stronger);
	g_test_add_func("/config/lists-grow-until-they-are-emptied",
			test_lists_grow_until_they_are_emptied);
	g_test_add_func("/config/disks-have-settings", test_disks_have_settings);
	g_test_add_func("/config/what-is-wrong-is-refused-by-file-line-section-and-key",
			test_what_is_wrong_is_refused_by_file_line_section_and_key);
	g_test_add_func("/config/all-that-is-wrong-is-said-at-once",
			test_all_that_is_wrong_is_said_at_once);
	g_test_add_func("/config/files-of-bytes-are-read-to-their-end",
			test_files_of_bytes_are_read_to_their_end);
	g_test_add_func("/config/every-value-tells-where-it-comes-from",
			test_every_value_tells_where_it_comes_from);
	g_test_add_func("/config/drop-ins-are-read-as-systemd-reads-them",
			test_drop_ins_are_read_as_systemd_reads_them);
	g_test_add_func("/config/what-cannot-be-read-is-an-error",
			test_what_cannot_be_read_is_an_error);

	return g_test_run();
}
