/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/findings.h"

struct Findings {
	char *subject;
	GPtrArray *all;
};

static void finding_free(void *data)
{
	Finding *finding = data;

	g_free(finding->subject);
	g_free(finding->evidence);
	g_free(finding->advice);
	g_free(finding);
}

Findings *findings_new(void)
{
	Findings *findings = g_new0(Findings, 1);

	findings->subject = g_strdup("machine");
	findings->all = g_ptr_array_new_with_free_func(finding_free);
	return findings;
}

void findings_free(Findings *findings)
{
	if (!findings)
		return;

	g_ptr_array_unref(findings->all);
	g_free(findings->subject);
	g_free(findings);
}

void findings_set_subject(Findings *findings, const char *subject)
{
	g_free(findings->subject);
	findings->subject = g_strdup(subject);
}

void findings_add(Findings *findings, FindingLevel level, const char *check, const char *advice,
		  const char *evidence, ...)
{
	Finding *finding = g_new0(Finding, 1);
	va_list arguments;

	va_start(arguments, evidence);
	finding->level = level;
	finding->subject = g_strdup(findings->subject);
	finding->check = check;
	finding->evidence = g_strdup_vprintf(evidence, arguments);
	finding->advice = g_strdup(advice);
	va_end(arguments);

	g_ptr_array_add(findings->all, finding);
}

const GPtrArray *findings_all(const Findings *findings)
{
	return findings->all;
}

FindingLevel findings_worst(const Findings *findings)
{
	FindingLevel worst = FINDING_OK;

	for (size_t i = 0; i < findings->all->len; i++)
		worst = MAX(worst, ((const Finding *)findings->all->pdata[i])->level);
	return worst;
}

const char *finding_level_name(FindingLevel level)
{
	static const char *const names[] = { "ok", "note", "warning", "error" };

	return names[level];
}
