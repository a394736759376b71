/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/arguments/missing-names.h"

#include "cli/arguments/mounted-name.h"
#include "cli/terminal/message.h"
#include "common/mounts/missing-section.h"

#include <unistd.h>

static void missing_name_free(void *data)
{
	MissingName *missing = data;

	g_free(missing->text);
	g_free(missing->advice);
	g_free(missing);
}

static void judge(MissingName *missing, const char *name, const MountTable *mounts)
{
	g_autofree char *meant = *name == '/' ? mounted_name_meant(mounts, name) : NULL;
	g_autofree char *shown = message_text(meant);

	missing->is_mistake = meant || (*name == '/' && access(name, F_OK) != 0);
	missing->advice = meant ? g_strdup_printf("did you mean %s?", shown)
			  : missing->is_mistake
				  ? g_strdup("there is no such path: correct or remove the section")
				  : g_strdup("nothing to do if it is mounted later");
}

/* Take @text, which says that @entry names nothing. */
static void add(GPtrArray *all, char *text, const ConfigEntry *entry, const MountTable *mounts)
{
	MissingName *missing = g_new0(MissingName, 1);

	missing->text = text;
	if (entry->section == CONFIG_FILESYSTEM) {
		judge(missing, entry->name, mounts);
	} else {
		missing->is_mistake = true;
		missing->advice = g_strdup("correct or remove the section: 'dedupctl budget' "
					   "shows the disks below filesystems");
	}
	g_ptr_array_add(all, missing);
}

GPtrArray *missing_names_find(const Config *config, const MountTable *mounts)
{
	GPtrArray *all = g_ptr_array_new_with_free_func(missing_name_free);
	const GPtrArray *entries = config_entries(config);

	for (guint i = 0; i < entries->len; i++) {
		const ConfigEntry *entry = entries->pdata[i];
		char *text = missing_section_text(mounts, entry);

		if (text)
			add(all, text, entry, mounts);
	}
	return all;
}
