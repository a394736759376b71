/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/zeros.h"

#include <glib.h>
#include <string.h>
#include <strings.h>

#define LARGE_BYTES (UINT64_C(1) << 30)

static bool is_image_name(const char *name)
{
	static const char *const endings[] = { ".img", ".raw", ".qcow2", ".qcow", ".vmdk",
					       ".vdi", ".vhd", ".vhdx",  ".qed" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < G_N_ELEMENTS(endings); i++)
		if (strcasecmp(dot, endings[i]) == 0)
			return true;

	return false;
}

bool zeros_look_provisioned(const ZerosEvidence *evidence)
{
	if (evidence->has_unwritten)
		return true;

	return !evidence->has_hole &&
	       (evidence->size_bytes >= LARGE_BYTES || is_image_name(evidence->name));
}

bool zeros_become_holes(ZerosPolicy policy, bool looks_provisioned)
{
	return policy == ZEROS_HOLE || (policy == ZEROS_AUTO && !looks_provisioned);
}
