/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/open-sources.h"

/* Sources that stay open, beside those in use. */
#define IDLE_SOURCES 32

struct OpenSources {
	Pass *pass;
	FileOpener *opener;
	GQueue idle;   /* OpenObject, last used first */
	GQueue in_use; /* OpenObject */
};

OpenSources *open_sources_new(Pass *pass, FileOpener *opener)
{
	OpenSources *sources = g_new0(OpenSources, 1);

	sources->pass = pass;
	sources->opener = opener;
	g_queue_init(&sources->idle);
	g_queue_init(&sources->in_use);
	return sources;
}

void open_sources_free(OpenSources *sources)
{
	if (!sources)
		return;

	g_queue_clear_full(&sources->idle, (GDestroyNotify)open_object_free);
	g_queue_clear_full(&sources->in_use, (GDestroyNotify)open_object_free);
	g_free(sources);
}

static GList *find(const GQueue *queue, uint32_t id)
{
	for (GList *link = queue->head; link; link = link->next)
		if (((const OpenObject *)link->data)->id == id)
			return link;

	return NULL;
}

bool open_sources_is_in_use(const OpenSources *sources, uint32_t id)
{
	return find(&sources->in_use, id);
}

bool open_sources_take(OpenSources *sources, uint32_t id, OpenObject **ret, GError **error)
{
	GList *link = find(&sources->idle, id);

	if (link) {
		*ret = link->data;
		g_queue_delete_link(&sources->idle, link);
	} else if (!open_object(sources->pass, sources->opener, id, ret, error)) {
		return false;
	}

	g_queue_push_head(&sources->in_use, *ret);
	return true;
}

void open_sources_give_back(OpenSources *sources, const OpenObject *source)
{
	if (!source)
		return;

	g_queue_remove(&sources->in_use, source);
	if (g_queue_get_length(&sources->idle) >= IDLE_SOURCES)
		open_object_free(g_queue_pop_tail(&sources->idle));
	g_queue_push_head(&sources->idle, (OpenObject *)source);
}
