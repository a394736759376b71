/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"

#include "cli/terminal/time-text.h"

#include <linux/capability.h>
#include <string.h>

/* 2024-01-01. dedupd is not older, so an earlier clock is wrong. */
#define CLOCK_LEAST_USEC (INT64_C(1704067200) * G_USEC_PER_SEC)

/* The number after @key in /proc/self/status. */
static bool read_capabilities(const DoctorView *view, uint64_t *ret)
{
	static const char key[] = "\nCapEff:";
	g_autofree char *path = g_build_filename(view->proc, "self", "status", NULL);
	g_autofree char *text = NULL;
	const char *line;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return false;
	line = strstr(text, key);
	if (!line)
		return false;

	*ret = g_ascii_strtoull(line + strlen(key), NULL, 16);
	return true;
}

static void look_at_rights(const DoctorView *view, Findings *findings)
{
	static const struct {
		unsigned bit;
		const char *name;
	} needed[] = {
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
		{ CAP_FOWNER, "CAP_FOWNER" },
	};
	g_autoptr(GString) missing = g_string_new(NULL);
	uint64_t has;

	if (!read_capabilities(view, &has)) {
		findings_add(findings, FINDING_NOTE, "rights", NULL,
			     "the kernel does not say what this process may do");
		return;
	}

	for (size_t i = 0; i < G_N_ELEMENTS(needed); i++)
		if (!(has >> needed[i].bit & 1))
			g_string_append_printf(missing, "%s%s", missing->len > 0 ? ", " : "",
					       needed[i].name);
	if (missing->len == 0)
		findings_add(findings, FINDING_OK, "rights", NULL, "all that a whole pass needs");
	else
		findings_add(findings, FINDING_WARNING, "rights",
			     "run it as root: otherwise a pass reads all data that its user may "
			     "read, and changes only files of that user",
			     "%s is missing", missing->str);
}

static void look_at_clock(const DoctorView *view, Findings *findings)
{
	g_autofree char *now = time_text_local(view->now_usec);

	if (view->now_usec < CLOCK_LEAST_USEC)
		findings_add(findings, FINDING_WARNING, "clock",
			     "set it: windows, --min-age and the detection of changes depend on it",
			     "it says %s", now);
	else
		findings_add(findings, FINDING_OK, "clock", NULL, "%s", now);
}

static void look_at_pressure(const DoctorView *view, Findings *findings)
{
	g_autofree char *path = g_build_filename(view->proc, "pressure", "io", NULL);
	g_autofree char *text = NULL;

	if (g_file_get_contents(path, &text, NULL, NULL))
		findings_add(findings, FINDING_OK, "pressure", NULL, "%.*s",
			     (int)strcspn(text, "\n"), text);
	else
		findings_add(findings, FINDING_NOTE, "pressure",
			     "nothing: --pressure=on uses the counters of disks. Boot with psi=1 "
			     "to see the pressure yourself",
			     "the kernel keeps no %s", path);
}

/* Other programs that share data, or undo sharing. */
static const struct {
	const char *name; /* as in the kernel, at most 15 bytes */
	FindingLevel level;
	const char *advice;
} others[] = {
	{ "bees", FINDING_WARNING,
	  "stop one of the two: they undo each other's work, and the kernel can hang when one "
	  "resolves references while the other shares (since 5.4)" },
	{ "beesd", FINDING_WARNING, "stop one of the two: see bees" },
	{ "duperemove", FINDING_WARNING, "let it end: both would read and share the same data" },
	{ "oans", FINDING_WARNING, "let it end: both would read and share the same data" },
	{ "rmlint", FINDING_NOTE,
	  "let it end first: a pass would share data that it is about to delete" },
	{ "jdupes", FINDING_NOTE, "let it end first: it reads and may share the same data" },
	{ "xfs_fsr", FINDING_WARNING, "let it end: it unshares the data that it moves" },
};

static void add_other(const char *name, const char *process, unsigned *n_found, Findings *findings)
{
	for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
		if (strcmp(others[i].name, name) != 0)
			continue;
		findings_add(findings, others[i].level, "deduplicators", others[i].advice,
			     "%s runs (process %s)", name, process);
		(*n_found)++;
	}
}

static void look_for_deduplicators(const DoctorView *view, Findings *findings)
{
	g_autoptr(GDir) processes = g_dir_open(view->proc, 0, NULL);
	unsigned n_found = 0;
	const char *process;

	while (processes && (process = g_dir_read_name(processes))) {
		g_autofree char *path = g_build_filename(view->proc, process, "comm", NULL);
		g_autofree char *name = NULL;

		if (!g_ascii_isdigit(*process) || !g_file_get_contents(path, &name, NULL, NULL))
			continue;
		name[strcspn(name, "\n")] = '\0';
		add_other(name, process, &n_found, findings);
	}
	if (n_found == 0)
		findings_add(findings, FINDING_OK, "deduplicators", NULL, "none but dedupd");
}

/* Whether a link below @units enables the unit. */
static bool is_enabled(const DoctorView *view, const char *wanted_by, const char *unit)
{
	g_autofree char *path = g_build_filename(view->units, wanted_by, unit, NULL);

	return g_file_test(path, G_FILE_TEST_IS_SYMLINK);
}

/* Whether any timer of dedupd is enabled; those of --once have an instance. */
static bool has_timer(const DoctorView *view)
{
	g_autofree char *path = g_build_filename(view->units, "timers.target.wants", NULL);
	g_autoptr(GDir) wants = g_dir_open(path, 0, NULL);
	const char *name;

	while (wants && (name = g_dir_read_name(wants)))
		if (g_str_has_prefix(name, "dedupd") && g_str_has_suffix(name, ".timer"))
			return true;
	return false;
}

static void look_at_units(const DoctorView *view, bool service_runs, Findings *findings)
{
	bool enabled = view->units && is_enabled(view, "multi-user.target.wants", "dedupd.service");

	if (!view->units)
		findings_add(findings, FINDING_NOTE, "service",
			     "'dedupd --once MOUNT' makes a pass",
			     "dedupctl was built without systemd, and cannot see whether it runs");
	else if (service_runs)
		findings_add(findings, FINDING_OK, "service", NULL, "it runs, and is %senabled",
			     enabled ? "" : "not ");
	else if (enabled)
		findings_add(findings, FINDING_WARNING, "service",
			     "see 'systemctl status dedupd' for why",
			     "it is enabled, but does not run");
	else if (has_timer(view))
		findings_add(findings, FINDING_OK, "service", NULL,
			     "it does not run, and a timer makes passes");
	else
		findings_add(findings, FINDING_NOTE, "service",
			     "'systemctl enable --now dedupd' starts the service, which makes "
			     "passes; 'dedupd --once MOUNT' makes one",
			     "it does not run, and no timer is enabled");
}

void doctor_look_at_machine(const DoctorView *view, bool service_runs, Findings *findings)
{
	look_at_rights(view, findings);
	look_at_clock(view, findings);
	look_at_pressure(view, findings);
	look_for_deduplicators(view, findings);
	look_at_units(view, service_runs, findings);
}
