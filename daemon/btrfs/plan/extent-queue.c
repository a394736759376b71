/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/plan/extent-queue.h"

#include "common/content/run.h"
#include "kernel-ioctl/call/file-key.h"

/*
 * The queue is full with so many short targets, or so many bytes of long ones: data that is fetched for them stays
 * in memory until they are shared.
 */
#define TARGETS_MAX 256
#define BYTES_MAX   (UINT64_C(16) << 20)
#define LEAST_MAX   16

/* Limit of the steps and runs of all targets together; a single target may have more. */
#define MEMORY_MAX (UINT64_C(8) << 20)

struct ExtentQueue {
	GQueue targets; /* PlannedTarget */
	GHashTable *
		by_place; /* the steps of all targets (ExtentStep) by their target's place -> PlannedTarget */
	uint64_t bytes;
	uint64_t memory_bytes;
};

static bool is_same_file(const ExtentRef *one, const ExtentRef *other)
{
	return one->root == other->root && one->inode == other->inode;
}

void planned_target_free(PlannedTarget *planned)
{
	if (!planned)
		return;

	g_array_unref(planned->steps);
	g_array_unref(planned->parts);
	g_array_unref(planned->holders);
	g_array_unref(planned->runs);
	g_free(planned);
}

void planned_target_fetch(PlannedTarget *planned, ExtentFiles *files, uint64_t length)
{
	const ExtentStep *first = &g_array_index(planned->steps, ExtentStep, 0);

	planned->of_target =
		extent_files_fetch(files, &first->target, first->target_offset, length);
	if (first->from == STEP_FROM_PLACE)
		planned->of_source =
			extent_files_fetch(files, &first->source, first->source_offset, length);
}

void planned_target_release(PlannedTarget *planned, ExtentFiles *files)
{
	extent_files_release(files, &planned->of_target);
	extent_files_release(files, &planned->of_source);
}

static guint hash_place(gconstpointer step)
{
	const ExtentStep *at = step;
	FileKey file = { at->target.root, at->target.inode };

	return file_key_hash(&file) ^ g_int64_hash(&at->target_offset);
}

static gboolean is_same_place(gconstpointer one, gconstpointer other)
{
	const ExtentStep *a = one;
	const ExtentStep *b = other;

	return is_same_file(&a->target, &b->target) && a->target_offset == b->target_offset;
}

ExtentQueue *extent_queue_new(void)
{
	ExtentQueue *queue = g_new0(ExtentQueue, 1);

	g_queue_init(&queue->targets);
	queue->by_place = g_hash_table_new(hash_place, is_same_place);
	return queue;
}

void extent_queue_free(ExtentQueue *queue)
{
	if (!queue)
		return;

	g_hash_table_unref(queue->by_place);
	g_queue_clear_full(&queue->targets, (GDestroyNotify)planned_target_free);
	g_free(queue);
}

static void replace(GArray *array, const GArray *by)
{
	g_array_set_size(array, 0);
	g_array_append_vals(array, by->data, by->len);
}

void planned_target_set(PlannedTarget *planned, const GArray *steps, const GArray *parts,
			const GArray *holders)
{
	replace(planned->steps, steps);
	replace(planned->parts, parts);
	replace(planned->holders, holders);
}

PlannedTarget *extent_queue_push(ExtentQueue *queue, const Object *target, const GArray *steps,
				 const GArray *parts, const GArray *holders, const GArray *runs)
{
	PlannedTarget *planned = g_new0(PlannedTarget, 1);

	planned->extent = *target;
	planned->steps = g_array_new(false, false, sizeof(ExtentStep));
	planned->parts = g_array_new(false, false, sizeof(CopyPart));
	planned->holders = g_array_new(false, false, sizeof(uint64_t));
	planned->runs = g_array_new(false, false, sizeof(Run));
	planned_target_set(planned, steps, parts, holders);
	replace(planned->runs, runs);
	queue->bytes += target->size_bytes;
	planned->memory_bytes = planned->steps->len * sizeof(ExtentStep) +
				planned->parts->len * sizeof(CopyPart) +
				planned->holders->len * sizeof(uint64_t) + runs->len * sizeof(Run);
	queue->memory_bytes += planned->memory_bytes;
	g_queue_push_tail(&queue->targets, planned);
	for (guint i = 0; i < steps->len; i++)
		g_hash_table_insert(queue->by_place, &g_array_index(planned->steps, ExtentStep, i),
				    planned);
	return planned;
}

const PlannedTarget *extent_queue_first(const ExtentQueue *queue)
{
	return queue->targets.head->data;
}

PlannedTarget *extent_queue_pop(ExtentQueue *queue)
{
	PlannedTarget *first = g_queue_pop_head(&queue->targets);

	for (guint i = 0; i < first->steps->len; i++)
		g_hash_table_remove(queue->by_place, &g_array_index(first->steps, ExtentStep, i));
	queue->bytes -= first->extent.size_bytes;
	queue->memory_bytes -= first->memory_bytes;
	return first;
}

guint extent_queue_length(const ExtentQueue *queue)
{
	return queue->targets.length;
}

bool extent_queue_is_empty(const ExtentQueue *queue)
{
	return !queue->targets.head;
}

bool extent_queue_has_any(const ExtentQueue *queue, GHashTable *objects)
{
	for (GList *link = queue->targets.head; link; link = link->next) {
		const PlannedTarget *planned = link->data;

		if (g_hash_table_contains(objects, GUINT_TO_POINTER(planned->extent.id)))
			return true;
	}

	return false;
}

bool extent_queue_claims_room(const ExtentQueue *queue)
{
	for (GList *link = queue->targets.head; link; link = link->next)
		if (((const PlannedTarget *)link->data)->claim.held_room_bytes > 0)
			return true;

	return false;
}

bool extent_queue_is_full(const ExtentQueue *queue)
{
	guint n = queue->targets.length;

	return n >= TARGETS_MAX || queue->memory_bytes >= MEMORY_MAX ||
	       (n >= LEAST_MAX && queue->bytes >= BYTES_MAX);
}

/* Whether @step continues @joined in its source, @length bytes after the beginning. */
static bool is_at_source(const ExtentStep *step, const ExtentStep *joined, uint64_t length)
{
	if (step->from != joined->from)
		return false;

	/* A hole continues at any place. */
	return step->from == STEP_FROM_HOLE ||
	       (is_same_file(&step->source, &joined->source) &&
		step->source_offset == joined->source_offset + length);
}

/* The same in both files. */
static bool is_at(const ExtentStep *step, const ExtentStep *joined, uint64_t length)
{
	return is_same_file(&step->target, &joined->target) &&
	       step->target_offset == joined->target_offset + length &&
	       is_at_source(step, joined, length);
}

/* The step that continues there, taken or not.  @own: the target of @joined. */
static ExtentStep *find_step(const ExtentQueue *queue, const PlannedTarget *own,
			     const ExtentStep *joined, uint64_t length, bool is_taken)
{
	ExtentStep behind = { .target = joined->target,
			      .target_offset = joined->target_offset + length };
	gpointer found, planned;
	ExtentStep *step;

	if (!g_hash_table_lookup_extended(queue->by_place, &behind, &found, &planned))
		return NULL;

	step = found;
	/* Each target has a copy of its own. */
	if (step->is_taken != is_taken || !is_at_source(step, joined, length) ||
	    (joined->from == STEP_FROM_COPY && planned != own))
		return NULL;
	return step;
}

bool extent_queue_ends_before(const ExtentQueue *queue, const ExtentStep *step)
{
	const PlannedTarget *last = queue->targets.tail ? queue->targets.tail->data : NULL;

	/* Each target has a copy of its own. */
	if (step->from == STEP_FROM_COPY)
		return false;
	for (guint i = 0; last && i < last->steps->len; i++) {
		const ExtentStep *before = &g_array_index(last->steps, ExtentStep, i);

		if (is_at(step, before, before->length))
			return true;
	}

	return false;
}

/* Take @first, of the target @own, with all that continues it. */
static TakenSteps take_joined(const ExtentQueue *queue, const PlannedTarget *own, ExtentStep *first)
{
	TakenSteps taken = { *first, first, 0 };
	ExtentStep *step;

	first->is_taken = true;
	while ((step = find_step(queue, own, &taken.joined, taken.joined.length, false))) {
		step->is_taken = true;
		taken.joined.length += step->length;
		taken.alone = NULL;
	}

	return taken;
}

bool extent_queue_take_joined(ExtentQueue *queue, TakenSteps *ret)
{
	const PlannedTarget *first = extent_queue_first(queue);

	for (guint i = 0; i < first->steps->len; i++) {
		ExtentStep *step = &g_array_index(first->steps, ExtentStep, i);

		if (step->is_done)
			continue;
		if (step->is_taken)
			return false;
		*ret = take_joined(queue, first, step);
		step->is_taken = !ret->alone;
		return !ret->alone;
	}

	return false;
}

/* The bytes that are compared in vain if @taken differs.  @left_bytes of its target are not counted yet. */
static uint64_t at_stake(const TakenSteps *taken, const QueueTake *limits, uint64_t *left_bytes)
{
	uint64_t bytes = MIN(taken->joined.length, limits->window_bytes);

	if (!taken->alone)
		return bytes;
	bytes = MIN(bytes, *left_bytes);
	*left_bytes -= bytes;
	return bytes;
}

guint extent_queue_take(ExtentQueue *queue, const QueueTake *limits, GArray *ret)
{
	uint64_t bytes = 0;
	guint n = 0;

	for (GList *link = queue->targets.head; link && n < limits->targets; link = link->next) {
		const PlannedTarget *planned = link->data;
		/* References to one extent differ only together. */
		uint64_t left_bytes = planned->extent.size_bytes;
		guint first = ret->len;

		for (guint i = 0; i < planned->steps->len; i++) {
			ExtentStep *step = &g_array_index(planned->steps, ExtentStep, i);
			TakenSteps taken;

			if (step->is_taken || step->from == STEP_FROM_COPY)
				continue;
			if (ret->len >= limits->steps || (bytes >= limits->bytes && left_bytes > 0))
				return n;
			taken = take_joined(queue, planned, step);
			taken.first = first;
			bytes += at_stake(&taken, limits, &left_bytes);
			g_array_append_val(ret, taken);
		}
		n++;
	}

	return n;
}

uint64_t extent_queue_set_done(ExtentQueue *queue, const ExtentStep *joined, uint64_t bytes)
{
	const PlannedTarget *first = extent_queue_first(queue);
	uint64_t done = 0;
	ExtentStep *step;

	/* Only the first target has its copy. */
	while ((step = find_step(queue, first, joined, done, true)) &&
	       done + step->length <= bytes) {
		step->is_done = true;
		step->is_used = true;
		done += step->length;
	}

	return done;
}
