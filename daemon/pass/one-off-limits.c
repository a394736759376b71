/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/pass/one-off-limits.h"

#include "hashstore/objects/objects.h"

#include <string.h>

/* A digest of the limits that the last pass was given; empty: none. */
#define LIMITS_NOTE "given-limits"

/* A digest, because globs may be any bytes. */
static char *digest_of(const Settings *settings)
{
	g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
	g_autofree char *numbers =
		g_strdup_printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT,
				settings->min_size_bytes, settings->min_age_usec);

	g_checksum_update(checksum, (const guchar *)numbers, (gssize)strlen(numbers) + 1);
	for (char **glob = settings->excludes; glob && *glob; glob++)
		g_checksum_update(checksum, (const guchar *)*glob, (gssize)strlen(*glob) + 1);
	return g_strdup(g_checksum_get_string(checksum));
}

bool one_off_limits_apply(Pass *pass, GError **error)
{
	const Settings *settings = pass->settings;
	g_autofree char *limits = settings->has_given_limits ? digest_of(settings) : g_strdup("");
	g_autofree char *noted = NULL;
	uint64_t n_objects = 0;

	pass->keeps_left_out = settings->is_for_one_pass;
	if (pass->keeps_left_out)
		return true;
	if (!hash_store_get_note(pass->store, LIMITS_NOTE, &noted, error))
		return false;
	if (g_str_equal(limits, noted ? noted : ""))
		return true;

	if (settings->has_given_limits && !hash_store_count_objects(pass->store, &n_objects, error))
		return false;
	pass->keeps_left_out = n_objects > 0;
	return settings->dry_run || hash_store_set_note(pass->store, LIMITS_NOTE, limits, error);
}
