/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "tests/unit/scratch.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define UUID "00112233-4455-6677-8899-aabbccddeeff"
#define NOW  (INT64_C(1790000000) * G_USEC_PER_SEC)

/* A machine: proc, sys and units in a directory of the test. */
typedef struct {
	Scratch *scratch;
	char *proc, *sysfs, *units;
	DoctorView view;
	Findings *findings;
} Machine;

static void machine_set_up(Machine *machine, const void *data)
{
	machine->scratch = scratch_new();
	machine->proc = scratch_path(machine->scratch, "proc");
	machine->sysfs = scratch_path(machine->scratch, "sys");
	machine->units = scratch_path(machine->scratch, "units");
	machine->view = (DoctorView){ machine->proc, machine->sysfs, machine->units, "/dev", NOW };
	machine->findings = findings_new();
}

static void machine_tear_down(Machine *machine, const void *data)
{
	findings_free(machine->findings);
	g_free(machine->proc);
	g_free(machine->sysfs);
	g_free(machine->units);
	scratch_free(machine->scratch);
}

static void enable(const Machine *machine, const char *wanted_by, const char *unit)
{
	g_autofree char *directory = g_build_filename(machine->units, wanted_by, NULL);
	g_autofree char *path = g_build_filename(directory, unit, NULL);

	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
	g_assert_cmpint(symlink("/nowhere", path), ==, 0);
}

/* The only finding of @check. */
static const Finding *found(const Machine *machine, const char *check)
{
	const GPtrArray *all = findings_all(machine->findings);
	const Finding *found = NULL;

	for (size_t i = 0; i < all->len; i++) {
		const Finding *finding = all->pdata[i];

		if (strcmp(finding->check, check) != 0)
			continue;
		g_assert_null(found);
		found = finding;
	}
	g_assert_nonnull(found);
	return found;
}

static void assert_found(const Machine *machine, const char *check, FindingLevel level,
			 const char *evidence)
{
	const Finding *finding = found(machine, check);

	g_assert_cmpstr(finding_level_name(finding->level), ==, finding_level_name(level));
	if (!strstr(finding->evidence, evidence))
		g_error("'%s' does not say '%s'", finding->evidence, evidence);
	/* Each warning has advice. */
	g_assert_true(finding->level < FINDING_WARNING || finding->advice);
}

static void test_a_machine_in_order(Machine *machine, const void *data)
{
	scratch_put(machine->scratch, "proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
	scratch_put(machine->scratch, "proc/pressure/io",
		    "some avg10=0.00 avg60=0.00\nfull avg10=0.00\n");
	scratch_put(machine->scratch, "proc/1/comm", "systemd\n");
	enable(machine, "multi-user.target.wants", "dedupd.service");
	doctor_look_at_machine(&machine->view, true, machine->findings);

	assert_found(machine, "rights", FINDING_OK, "whole pass");
	assert_found(machine, "clock", FINDING_OK, "2026-");
	assert_found(machine, "pressure", FINDING_OK, "some avg10=0.00 avg60=0.00");
	assert_found(machine, "deduplicators", FINDING_OK, "none");
	assert_found(machine, "service", FINDING_OK, "is enabled");
	g_assert_cmpint(findings_worst(machine->findings), ==, FINDING_OK);
	g_assert_cmpstr(found(machine, "rights")->subject, ==, "machine");
}

static void test_missing_rights_are_named(Machine *machine, const void *data)
{
	/* All capabilities but CAP_SYS_ADMIN, which is bit 21. */
	scratch_put(machine->scratch, "proc/self/status", "Name:\tx\nCapEff:\t000001ffffdfffff\n");
	doctor_look_at_machine(&machine->view, false, machine->findings);
	assert_found(machine, "rights", FINDING_WARNING, "CAP_SYS_ADMIN is missing");
}

static void test_a_machine_that_says_nothing(Machine *machine, const void *data)
{
	machine->view.now_usec = INT64_C(86400) * G_USEC_PER_SEC;
	doctor_look_at_machine(&machine->view, false, machine->findings);

	assert_found(machine, "rights", FINDING_NOTE, "does not say");
	assert_found(machine, "clock", FINDING_WARNING, "1970-01-0");
	assert_found(machine, "pressure", FINDING_NOTE, "pressure/io");
	assert_found(machine, "service", FINDING_NOTE, "no timer");
}

static void test_other_deduplicators_are_named(Machine *machine, const void *data)
{
	scratch_put(machine->scratch, "proc/17/comm", "beesd\n");
	scratch_put(machine->scratch, "proc/18/comm", "beeswax\n");
	scratch_put(machine->scratch, "proc/irq/comm", "duperemove\n");
	doctor_look_at_machine(&machine->view, false, machine->findings);
	assert_found(machine, "deduplicators", FINDING_WARNING, "beesd runs (process 17)");
}

static void test_a_service_that_should_run_and_does_not(Machine *machine, const void *data)
{
	enable(machine, "multi-user.target.wants", "dedupd.service");
	doctor_look_at_machine(&machine->view, false, machine->findings);
	assert_found(machine, "service", FINDING_WARNING, "does not run");
}

static void test_a_timer_does_for_a_service(Machine *machine, const void *data)
{
	enable(machine, "timers.target.wants", "dedupd-once@srv.timer");
	doctor_look_at_machine(&machine->view, false, machine->findings);
	assert_found(machine, "service", FINDING_OK, "a timer makes passes");
}

static void test_known_kernels(Machine *machine, const void *data)
{
	static const struct {
		const char *release;
		FsKind kind;
		FindingLevel worst;
		unsigned n;
		unsigned n_large; /* more with pages larger than 4 KiB */
	} cases[] = {
		{ "7.3.0", FS_KIND_BTRFS, FINDING_OK, 1, 0 },
		{ "6.18.39", FS_KIND_BTRFS, FINDING_NOTE, 1, 0 },
		{ "6.11.0-25-generic", FS_KIND_BTRFS, FINDING_WARNING, 3, 1 },
		{ "6.11.2", FS_KIND_BTRFS, FINDING_ERROR, 3, 1 },
		{ "rolling", FS_KIND_BTRFS, FINDING_NOTE, 1, 0 },
	};
	bool has_large_pages = sysconf(_SC_PAGESIZE) > 4096;

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(Findings) findings = findings_new();
		struct utsname system = { .version = "#1 SMP" };

		g_strlcpy(system.release, cases[i].release, sizeof(system.release));
		doctor_look_at_kernel(&system, cases[i].kind, findings);
		g_test_message("%s", cases[i].release);
		g_assert_cmpint(findings_worst(findings), ==, cases[i].worst);
		g_assert_cmpuint(findings_all(findings)->len, ==,
				 cases[i].n + (has_large_pages ? cases[i].n_large : 0));
	}
}

static void test_options_that_are_in_the_way(Machine *machine, const void *data)
{
	static const struct {
		const char *options;
		FsKind kind;
		FindingLevel level;
		const char *evidence;
	} cases[] = {
		{ NULL, FS_KIND_BTRFS, FINDING_OK, "none" },
		{ "rw,space_cache=v2,subvol=/autodefrag", FS_KIND_BTRFS, FINDING_OK, "none" },
		{ "rw,autodefrag,subvol=/", FS_KIND_BTRFS, FINDING_WARNING, "autodefrag:" },
		{ "rw,nodatasum", FS_KIND_BTRFS, FINDING_WARNING, "must read all" },
		{ "rw,nodatacow", FS_KIND_BTRFS, FINDING_WARNING, "overwritten in place" },
		{ "compress-force=zstd:3", FS_KIND_BTRFS, FINDING_NOTE, "compress-force=zstd:3:" },
		{ "rw,compress=zstd:3", FS_KIND_BTRFS, FINDING_OK, "none" },
		{ "rw,autodefrag", FS_KIND_XFS, FINDING_OK, "none" },
		{ "rw,dax=always", FS_KIND_XFS, FINDING_WARNING, "DAX" },
		{ "rw,dax=never", FS_KIND_XFS, FINDING_OK, "none" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Machine one = { .findings = findings_new() };

		doctor_look_at_options(cases[i].options, cases[i].kind, one.findings);
		assert_found(&one, "options", cases[i].level, cases[i].evidence);
		findings_free(one.findings);
	}
}

static void test_quota_of_xfs_relieves_nobody(Machine *machine, const void *data)
{
	doctor_look_at_options("rw,usrquota", FS_KIND_XFS, machine->findings);
	assert_found(machine, "quota", FINDING_NOTE, "each owner");
}

static void test_quota_groups_and_operations_of_btrfs(Machine *machine, const void *data)
{
	static const struct {
		const char *enabled, *mode, *operation;
		FindingLevel level;
	} cases[] = {
		{ "1\n", "qgroup\n", "none\n", FINDING_WARNING },
		{ "1\n", "squota\n", "none\n", FINDING_NOTE },
		{ "0\n", "disabled\n", "balance\n", FINDING_OK },
		{ "1\n", "", "none\n", FINDING_WARNING },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Machine one = { .findings = findings_new() };

		scratch_put(machine->scratch, "sys/fs/btrfs/" UUID "/qgroups/enabled",
			    cases[i].enabled);
		scratch_put(machine->scratch, "sys/fs/btrfs/" UUID "/qgroups/mode", cases[i].mode);
		scratch_put(machine->scratch, "sys/fs/btrfs/" UUID "/exclusive_operation",
			    cases[i].operation);
		doctor_look_at_btrfs_sysfs(&machine->view, UUID, one.findings);
		assert_found(&one, "quota", cases[i].level, "quota");
		if (strcmp(cases[i].operation, "none\n") != 0)
			assert_found(&one, "operation", FINDING_NOTE, "busy with: balance");
		findings_free(one.findings);
	}
}

/* Copy the disk of the test's own directory, as sysfs would show it. */
static bool feign_disk(const Machine *machine, const char *name, const char *scheduler,
		       const char *rotational)
{
	static const char *const files[] = { "dev", "queue/scheduler", "queue/rotational", "stat" };
	g_autofree char *numbers = NULL;
	struct stat st;

	g_assert_cmpint(fstat(machine->scratch->fd, &st), ==, 0);
	if (major(st.st_dev) == 0)
		return false;
	numbers = g_strdup_printf("%u:%u", major(st.st_dev), minor(st.st_dev));

	const char *const texts[] = { numbers, scheduler, rotational, "0 0 0 0 0 0 0 0 0 0 0\n" };
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *file = g_strconcat("sys/devices/", name, "/", files[i], NULL);

		scratch_put(machine->scratch, file, texts[i]);
	}

	g_autofree char *target = g_build_filename(machine->sysfs, "devices", name, NULL);
	g_autofree char *link = g_build_filename(machine->sysfs, "dev", "block", numbers, NULL);
	g_autofree char *directory = g_path_get_dirname(link);
	g_assert_cmpint(g_mkdir_with_parents(directory, 0755), ==, 0);
	g_assert_cmpint(symlink(target, link), ==, 0);
	return true;
}

static void test_disks(Machine *machine, const void *data)
{
	if (!feign_disk(machine, "vdz", "[none] mq-deadline\n", "1\n")) {
		g_test_skip("the directory of the test lies on no disk");
		return;
	}

	doctor_look_at_disks(&machine->view, machine->scratch->fd, machine->findings);
	assert_found(machine, "scheduler", FINDING_NOTE, "vdz: none does not heed");
	assert_found(machine, "rotation", FINDING_NOTE, "vdz: virtual");
}

static void test_disks_in_order(Machine *machine, const void *data)
{
	if (!feign_disk(machine, "sdz", "none [mq-deadline] bfq\n", "1\n")) {
		g_test_skip("the directory of the test lies on no disk");
		return;
	}

	doctor_look_at_disks(&machine->view, machine->scratch->fd, machine->findings);
	assert_found(machine, "scheduler", FINDING_OK, "sdz: mq-deadline heeds");
	assert_found(machine, "rotation", FINDING_OK, "sdz: rotating");
}

static void test_files_from_the_future(Machine *machine, const void *data)
{
	scratch_put(machine->scratch, "a", "text");
	doctor_look_at_files(machine->scratch->fd, &machine->view, NULL, machine->findings);
	g_assert_nonnull(found(machine, "space"));
	assert_found(machine, "owners", FINDING_OK, "owns any of the 1 names");
	/* The view's clock is in 2026-09, but the file is made now. */
	machine->view.now_usec = g_get_real_time() - INT64_C(3600) * G_USEC_PER_SEC;
	doctor_look_at_files(machine->scratch->fd, &machine->view, NULL, machine->findings);

	unsigned n_stamps = 0;
	for (size_t i = 0; i < findings_all(machine->findings)->len; i++) {
		const Finding *finding = findings_all(machine->findings)->pdata[i];

		n_stamps += strcmp(finding->check, "stamps") == 0;
	}
	g_assert_cmpuint(n_stamps, >=, 1);
}

#define ADD(name, test)                                                                            \
	g_test_add("/doctor/" name, Machine, NULL, machine_set_up, test, machine_tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("in-order", test_a_machine_in_order);
	ADD("rights", test_missing_rights_are_named);
	ADD("says-nothing", test_a_machine_that_says_nothing);
	ADD("deduplicators", test_other_deduplicators_are_named);
	ADD("service", test_a_service_that_should_run_and_does_not);
	ADD("timer", test_a_timer_does_for_a_service);
	ADD("kernels", test_known_kernels);
	ADD("options", test_options_that_are_in_the_way);
	ADD("quota-of-xfs", test_quota_of_xfs_relieves_nobody);
	ADD("quota-groups", test_quota_groups_and_operations_of_btrfs);
	ADD("disks", test_disks);
	ADD("disks-in-order", test_disks_in_order);
	ADD("future", test_files_from_the_future);

	return g_test_run();
}
