/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/witnesses.h"

#include <inttypes.h>
#include <stdio.h>

/* A line of the note: O for old, L for latest, then the numbers. */
#define LINE       "%c %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
#define LINE_INPUT "%c %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64

Witnesses *witnesses_new(void)
{
	Witnesses *witnesses = g_new0(Witnesses, 1);

	witnesses->old = g_array_new(false, false, sizeof(Witness));
	witnesses->latest = g_array_new(false, false, sizeof(Witness));
	return witnesses;
}

void witnesses_free(Witnesses *witnesses)
{
	if (!witnesses)
		return;

	g_array_unref(witnesses->old);
	g_array_unref(witnesses->latest);
	g_free(witnesses);
}

static void read_line(Witnesses *witnesses, const char *line)
{
	Witness one;
	char age;

	if (sscanf(line, LINE_INPUT, &age, &one.subvolume, &one.inode, &one.offset, &one.values[0],
		   &one.values[1]) != 6)
		return;
	if (age == 'O' && witnesses->old->len < WITNESSES_OLD)
		g_array_append_val(witnesses->old, one);
	else if (age == 'L' && witnesses->latest->len < WITNESSES_LATEST)
		g_array_append_val(witnesses->latest, one);
}

bool witnesses_load(HashStore *store, const char *name, Witnesses **ret, GError **error)
{
	g_autoptr(Witnesses) witnesses = witnesses_new();
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!hash_store_get_note(store, name, &text, error))
		return false;

	lines = g_strsplit(text ? text : "", "\n", WITNESSES_OLD + WITNESSES_LATEST + 2);
	if (lines[0] &&
	    sscanf(lines[0], "%" SCNu64 " %" SCNu64, &witnesses->until, &witnesses->n_old) == 2)
		for (size_t i = 1; lines[i]; i++)
			read_line(witnesses, lines[i]);
	*ret = g_steal_pointer(&witnesses);
	return true;
}

size_t witnesses_count(const Witnesses *witnesses)
{
	return witnesses->old->len + witnesses->latest->len;
}

Witness *witnesses_at(const Witnesses *witnesses, size_t i)
{
	return i < witnesses->old->len
		       ? &g_array_index(witnesses->old, Witness, i)
		       : &g_array_index(witnesses->latest, Witness, i - witnesses->old->len);
}

bool witnesses_save(const Witnesses *witnesses, HashStore *store, const char *name, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);

	g_string_append_printf(text, "%" PRIu64 " %" PRIu64, witnesses->until, witnesses->n_old);
	for (size_t i = 0; i < witnesses_count(witnesses); i++) {
		const Witness *one = witnesses_at(witnesses, i);

		g_string_append_printf(text, "\n" LINE, i < witnesses->old->len ? 'O' : 'L',
				       one->subvolume, one->inode, one->offset, one->values[0],
				       one->values[1]);
	}
	return hash_store_set_note(store, name, text->str, error);
}

/* Choose the slot of a newcomer after @n others, so that each has the same chance to stay. */
static uint64_t choose_slot(uint64_t n)
{
	uint64_t random = (uint64_t)g_random_int() << 32 | g_random_int();

	return random % (n + 1);
}

/* The oldest of the latest becomes one of the old ones, or is forgotten. */
static void age(Witnesses *witnesses)
{
	Witness oldest = g_array_index(witnesses->latest, Witness, 0);
	uint64_t slot = choose_slot(witnesses->n_old);

	witnesses->n_old++;
	g_array_remove_index(witnesses->latest, 0);
	if (witnesses->old->len < WITNESSES_OLD)
		g_array_append_val(witnesses->old, oldest);
	else if (slot < WITNESSES_OLD)
		g_array_index(witnesses->old, Witness, slot) = oldest;
}

static bool is_same_place(const Witness *one, const Witness *other)
{
	return one->subvolume == other->subvolume && one->inode == other->inode &&
	       one->offset == other->offset;
}

void witnesses_add(Witnesses *witnesses, const Witness *witness)
{
	for (size_t i = 0; i < witnesses_count(witnesses); i++)
		if (is_same_place(witnesses_at(witnesses, i), witness))
			return;

	if (witnesses->latest->len == WITNESSES_LATEST)
		age(witnesses);
	g_array_append_val(witnesses->latest, *witness);
}

bool witnesses_filter(Witnesses *witnesses, WitnessKeep keep, void *data, GError **error)
{
	GArray *arrays[] = { witnesses->old, witnesses->latest };

	for (size_t i = 0; i < G_N_ELEMENTS(arrays); i++) {
		guint n = 0;

		for (guint j = 0; j < arrays[i]->len; j++) {
			Witness one = g_array_index(arrays[i], Witness, j);
			bool is_kept;

			if (!keep(&one, data, &is_kept, error))
				return false;
			if (is_kept)
				g_array_index(arrays[i], Witness, n++) = one;
		}
		g_array_set_size(arrays[i], n);
	}

	return true;
}

void witness_sample_add(WitnessSample *sample, uint64_t subvolume, uint64_t inode, uint64_t offset)
{
	uint64_t slot =
		sample->n_added < WITNESS_SAMPLE ? sample->n_added : choose_slot(sample->n_added);

	sample->n_added++;
	if (slot < WITNESS_SAMPLE)
		sample->places[slot] =
			(Witness){ .subvolume = subvolume, .inode = inode, .offset = offset };
}

size_t witness_sample_count(const WitnessSample *sample)
{
	return MIN(sample->n_added, WITNESS_SAMPLE);
}

bool witnesses_add_sample(Witnesses *witnesses, const WitnessSample *sample, WitnessKeep keep,
			  void *data, GError **error)
{
	for (size_t i = 0; i < witness_sample_count(sample); i++) {
		Witness one = sample->places[i];
		bool is_kept;

		if (!keep(&one, data, &is_kept, error))
			return false;
		if (is_kept)
			witnesses_add(witnesses, &one);
	}

	return true;
}
