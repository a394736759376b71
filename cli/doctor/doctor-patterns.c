/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/doctor/doctor.h"
#include "common/mounts/pattern-look.h"

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
