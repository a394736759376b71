/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/extent-choice.h"

#include "common/config/place-cost.h"
#include "daemon/btrfs/refs/ref-groups.h"
#include "hashstore/objects/holders.h"

#define NO_PLACE G_MAXSIZE

struct ExtentChoice {
	Pass *pass;
	ExtentRefs *refs;
	GArray *found; /* GroupedRef: groups of the same inode and offset, writable ones first in each */
	GArray *holders; /* uint64_t */
	Places all;
	Places writable;
	uint64_t cost_max;
	bool defers;
	bool is_listed; /* all places are */
	bool is_left;
};

ExtentChoice *extent_choice_new(Pass *pass, ExtentRefs *refs)
{
	ExtentChoice *choice = g_new0(ExtentChoice, 1);

	choice->pass = pass;
	choice->refs = refs;
	extent_refs_use_windows(refs);
	choice->found = g_array_new(false, false, sizeof(GroupedRef));
	choice->holders = g_array_new(false, false, sizeof(uint64_t));
	return choice;
}

void extent_choice_free(ExtentChoice *choice)
{
	if (!choice)
		return;

	g_array_unref(choice->found);
	g_array_unref(choice->holders);
	g_free(choice);
}

static const GroupedRef *found_at(const ExtentChoice *choice, guint i)
{
	return ref_groups_at(choice->found, i);
}

static guint count_writable(const ExtentChoice *choice, guint begin, guint end)
{
	guint n = 0;

	while (begin + n < end && !found_at(choice, begin + n)->is_read_only)
		n++;
	return n;
}

/* What may be compared where read-only places have a part in it. */
static uint64_t cost_max_of_all(const ExtentChoice *choice)
{
	SnapshotPolicy policy = choice->pass->settings->read_only_snapshots;

	return places_cost_max(choice->defers && policy != SNAPSHOTS_SHARE ? SNAPSHOTS_WRITABLE
									   : policy,
			       &choice->all, &choice->writable, choice->cost_max,
			       choice->pass->btrfs.snapshots_rotate);
}

/*
 * Look up the first place of each group, and see what all cost.  It ends where that is too much whichever
 * are chosen.
 */
static bool measure(ExtentChoice *choice, const Object *extent, GError **error)
{
	choice->all = choice->writable = (Places){ 0 };
	for (guint i = 0; i < choice->found->len && pass_checkpoint(choice->pass);) {
		guint end = ref_groups_end(choice->found, i);
		guint n_writable = count_writable(choice, i, end);
		uint64_t length = 0;

		/* What only snapshots show need not be looked at where these are too much already. */
		if ((n_writable > 0 ||
		     places_are_affordable(&choice->all, cost_max_of_all(choice))) &&
		    !extent_refs_add(choice->refs, &found_at(choice, i)->ref, extent, &length,
				     error))
			return false;
		places_add(&choice->all, length, end - i);
		places_add(&choice->writable, length, n_writable);
		if (!places_are_affordable(&choice->writable, choice->cost_max))
			break;
		i = end;
	}

	return true;
}

/* Add the place of the reference @i.  *ret_place is its number in the list; NO_PLACE: it shows nothing of the extent. */
static bool add_found(ExtentChoice *choice, const Object *extent, guint i, size_t *ret_place,
		      GError **error)
{
	uint64_t ignored;
	size_t before, after;

	extent_refs_list(choice->refs, &before);
	if (!extent_refs_add(choice->refs, &found_at(choice, i)->ref, extent, &ignored, error))
		return false;

	extent_refs_list(choice->refs, &after);
	*ret_place = after > before ? before : NO_PLACE;
	return true;
}

/*
 * The number of the place that measure() added for the reference @i; NO_PLACE if there is none.  *next is where it would
 * be, since measure() added the first place of each group in their order, before any other.
 */
static size_t measured_place(const ExtentChoice *choice, guint i, size_t *next)
{
	const BtrfsRef *ref = &found_at(choice, i)->ref;
	const ExtentRef *places;
	size_t n;

	places = extent_refs_list(choice->refs, &n);
	if (*next == n || places[*next].root != ref->root || places[*next].inode != ref->inode ||
	    places[*next].offset != ref->offset)
		return NO_PLACE;
	return (*next)++;
}

/*
 * Whether the references [@begin + 1, @end) are of snapshots that nobody wrote to, the oldest first, and @begin is of
 * their source.
 */
static bool is_history(const ExtentChoice *choice, guint begin, guint end)
{
	BtrfsFamilies *families = btrfs_ref_bound_families(choice->pass->btrfs.ref_bound);
	const GArray *snapshots =
		btrfs_families_untouched(families, found_at(choice, begin)->ref.root);
	uint64_t otransid = 0;
	guint k = 0;

	/* Both are in the order of ids. */
	for (guint i = begin + 1; snapshots && i < end; i++) {
		uint64_t id = found_at(choice, i)->ref.root;
		const BtrfsUntouched *one;

		while (k < snapshots->len && g_array_index(snapshots, BtrfsUntouched, k).id < id)
			k++;
		if (k == snapshots->len)
			return false;
		one = &g_array_index(snapshots, BtrfsUntouched, k);
		if (one->id != id || one->otransid < otransid)
			return false;
		otransid = one->otransid;
	}

	return snapshots;
}

/*
 * Add the references (@low, @high) of snapshots, the oldest first.  The references before and behind them were added as
 * @older and @newer.  If the file did not change between these two, those between show it as they do.
 */
static bool add_between(ExtentChoice *choice, const Object *extent, guint low, guint high,
			size_t older, size_t newer, GError **error)
{
	guint middle = low + (high - low) / 2;
	size_t place, n;

	if (high - low < 2)
		return true;
	if (older != NO_PLACE && newer != NO_PLACE) {
		const ExtentRef *places = extent_refs_list(choice->refs, &n);
		ExtentRef like = places[older];

		if (extent_refs_is_unchanged(choice->refs, &like, &places[newer])) {
			for (guint i = low + 1; i < high; i++)
				extent_refs_add_like(choice->refs, &like,
						     found_at(choice, i)->ref.root);
			return true;
		}
	}

	return add_found(choice, extent, middle, &place, error) &&
	       add_between(choice, extent, low, middle, older, place, error) &&
	       add_between(choice, extent, middle, high, place, newer, error);
}

/* Add the references [@begin + 1, @end) of a group, the first of which was added as the place @first. */
static bool add_group(ExtentChoice *choice, const Object *extent, guint begin, guint end,
		      size_t first, GError **error)
{
	size_t place;

	if (end - begin > 2 && is_history(choice, begin, end))
		return add_found(choice, extent, begin + 1, &place, error) &&
		       add_between(choice, extent, begin + 1, end, place, first, error);

	for (guint i = begin + 1; i < end; i++)
		if (!add_found(choice, extent, i, &place, error))
			return false;

	return true;
}

/* Look up the other places: all of them, or the writable ones. */
static bool add_others(ExtentChoice *choice, const Object *extent, bool all, GError **error)
{
	size_t next = 0;

	for (guint i = 0; i < choice->found->len;) {
		guint end = ref_groups_end(choice->found, i);
		guint n = all ? end - i : count_writable(choice, i, end);
		size_t first = measured_place(choice, i, &next);

		/* It may have been too much to look at. */
		if (n > 0 && first == NO_PLACE && !add_found(choice, extent, i, &first, error))
			return false;
		if (n > 0 && !add_group(choice, extent, i, i + n, first, error))
			return false;
		i = end;
	}

	return true;
}

static void find_holders(ExtentChoice *choice)
{
	for (guint i = 0; i < choice->found->len; i++)
		if (found_at(choice, i)->is_read_only)
			g_array_append_val(choice->holders, found_at(choice, i)->ref.root);

	holders_make_unique(choice->holders);
}

static bool is_read_only_place(const ExtentRef *place, void *data)
{
	return read_only_subvolumes_has(data, place->root);
}

/* Whether there are places to share and others to leave, which the policy allows. */
static bool has_both(const ExtentChoice *choice)
{
	return places_may_be_left(choice->pass->settings->read_only_snapshots, &choice->all,
				  &choice->writable);
}

/* What all that was looked up shows. */
static Places listed_places(const ExtentChoice *choice)
{
	const ExtentRef *refs;
	Places places = { 0 };
	size_t n;

	refs = extent_refs_list(choice->refs, &n);
	for (size_t i = 0; i < n; i++)
		places_add(&places, refs[i].length, 1);
	return places;
}

static ExtentRefsOutcome leave(const ExtentChoice *choice)
{
	return extent_refs_leave(choice->refs, &found_at(choice, 0)->ref);
}

/*
 * Choose all places if they are worth it, by what the others show, too: what was overwritten since shows
 * more in snapshots.
 */
static bool choose_all(ExtentChoice *choice, const Object *extent, bool *ret, GError **error)
{
	*ret = places_are_affordable(&choice->all, cost_max_of_all(choice));
	if (!*ret)
		return true;
	if (!add_others(choice, extent, true, error))
		return false;

	choice->is_listed = true;
	choice->all = listed_places(choice);
	*ret = places_are_affordable(&choice->all, cost_max_of_all(choice));
	return true;
}

/* Leave all places to the deletion of snapshots, and list them, which tells what has to equal others. */
static bool leave_all(ExtentChoice *choice, const Object *extent, ExtentRefsOutcome *ret,
		      GError **error)
{
	if (!choice->is_listed && !add_others(choice, extent, true, error))
		return false;

	find_holders(choice);
	choice->is_left = true;
	*ret = extent_refs_outcome(choice->refs);
	/* What snapshots show is not gone. */
	if (*ret == EXTENT_REFS_GONE)
		*ret = leave(choice);
	return true;
}

/* Whether nothing writable shows the extent, and what does may be left to the deletion of snapshots. */
static bool may_leave_all(const ExtentChoice *choice)
{
	return places_may_all_be_left(choice->pass->settings->read_only_snapshots, &choice->all,
				      &choice->writable);
}

static bool choose(ExtentChoice *choice, const Object *extent, ExtentRefsOutcome *ret,
		   GError **error)
{
	bool was_measured = places_are_affordable(&choice->all, cost_max_of_all(choice));
	bool all;

	if (!choose_all(choice, extent, &all, error))
		return false;
	if (!all && may_leave_all(choice))
		return leave_all(choice, extent, ret, error);
	if (!all &&
	    (!has_both(choice) || !places_are_affordable(&choice->writable, choice->cost_max))) {
		*ret = leave(choice);
		return true;
	}

	if (!all) {
		extent_refs_remove_if(choice->refs, is_read_only_place, choice->pass->subvolumes);
		find_holders(choice);
		if (!was_measured && !add_others(choice, extent, false, error))
			return false;
	}
	*ret = extent_refs_outcome(choice->refs);
	/* What was overwritten a moment ago is not gone. */
	if (!all && *ret == EXTENT_REFS_GONE)
		*ret = leave(choice);
	return true;
}

bool extent_choice_may_defer(const ExtentChoice *choice)
{
	return choice->holders->len == 0 && (has_both(choice) || may_leave_all(choice));
}

bool extent_choice_is_left(const ExtentChoice *choice)
{
	return choice->is_left;
}

/*
 * Find which of @snapshots, to which nobody wrote, hold the extent.  They were made since it was allocated.  If the
 * oldest and the newest of them show it at @place, those between do, too.  *ret_length is what each shows there at
 * least; 0: that is not known.
 */
static bool find_snapshots(ExtentChoice *choice, const Object *extent, const GArray *snapshots,
			   uint64_t generation, const ExtentRef *place, uint64_t *ret_length,
			   GError **error)
{
	const BtrfsUntouched *oldest = NULL, *newest = NULL;
	uint64_t first, last;

	*ret_length = 0;
	for (guint i = 0; i < snapshots->len; i++) {
		const BtrfsUntouched *one = &g_array_index(snapshots, BtrfsUntouched, i);

		if (one->otransid < generation)
			continue;
		g_array_append_val(choice->holders, one->id);
		if (!oldest || one->otransid < oldest->otransid)
			oldest = one;
		if (!newest || one->otransid > newest->otransid)
			newest = one;
	}
	if (!oldest)
		return true;
	if (!extent_refs_shows(choice->refs, oldest->id, place, extent, &first, error) ||
	    !extent_refs_shows(choice->refs, newest->id, place, extent, &last, error))
		return false;

	*ret_length = MIN(first, last);
	return true;
}

/*
 * Choose all places of an extent that leaves of one subvolume alone have, in that and in the @snapshots of it, if these
 * are affordable.  A snapshot made since the leaves were written has them, too, so nothing is looked up in it.  An older
 * one has none of them, and what it had itself would be named by leaf.
 */
static bool choose_all_named(ExtentChoice *choice, const ExtentNamed *named,
			     const GArray *snapshots)
{
	uint64_t newest_leaf = extent_refs_newest_leaf(choice->refs);
	g_autofree ExtentRef *own = NULL;
	const ExtentRef *listed;
	size_t n;

	if (!named->is_all)
		return false;

	choice->writable = choice->all = listed_places(choice);
	for (guint i = 0; i < snapshots->len; i++) {
		const BtrfsUntouched *one = &g_array_index(snapshots, BtrfsUntouched, i);

		if (one->otransid < named->generation)
			continue;
		/* The leaf of the inode may be another one, and tell something else. */
		if (one->otransid < newest_leaf)
			return false;
		choice->all.n += choice->writable.n;
		choice->all.shown_bytes += choice->writable.shown_bytes;
	}
	if (!places_are_affordable(&choice->all, cost_max_of_all(choice)))
		return false;

	/* Adding moves them. */
	listed = extent_refs_list(choice->refs, &n);
	own = g_memdup2(listed, n * sizeof(*own));
	for (guint i = 0; i < snapshots->len; i++) {
		const BtrfsUntouched *one = &g_array_index(snapshots, BtrfsUntouched, i);

		for (size_t k = 0; k < n && one->otransid >= named->generation; k++)
			extent_refs_add_like(choice->refs, &own[k], one->id);
	}

	return true;
}

/*
 * Choose places of an extent that is in one subvolume and in its @snapshots only.  *ret is true in two cases: all places
 * are affordable, and known; or there are snapshots, and only the writable places are affordable.
 */
static bool choose_named(ExtentChoice *choice, const Object *extent, const ExtentNamed *named,
			 const GArray *snapshots, bool *ret, GError **error)
{
	SnapshotPolicy policy = choice->pass->settings->read_only_snapshots;
	bool may_be_left = snapshots_may_be_left(policy);
	const ExtentRef *places;
	uint64_t n_holders, length;
	size_t n;

	*ret = false;
	if (snapshots->len > 0 && !may_be_left && !named->is_all)
		return true;
	/* One more than the item counts shows that a file was overwritten since the last commit. */
	if (!extent_refs_list_named(choice->refs, extent, named->n_items + 1, error))
		return false;
	places = extent_refs_list(choice->refs, &n);
	if (n == 0 || n != named->n_items || extent_refs_outcome(choice->refs) != EXTENT_REFS_READ)
		return true;
	*ret = snapshots->len > 0 && choose_all_named(choice, named, snapshots);
	if (*ret || (snapshots->len > 0 && !may_be_left))
		return true;
	if (!find_snapshots(choice, extent, snapshots, named->generation, &places[0], &length,
			    error))
		return false;

	/* What was overwritten since shows more in snapshots, and what was cloned since is not in them. */
	n_holders = choice->holders->len;
	choice->writable = listed_places(choice);
	choice->all = choice->writable;
	places_add(&choice->all, length, n_holders);
	*ret = places_are_affordable(&choice->writable, choice->cost_max) &&
	       (n_holders > 0 ? length > 0 && !places_are_affordable(&choice->all,
								     cost_max_of_all(choice))
			      : named->is_all && snapshots->len == 0);
	return true;
}

/* Whether the places that are named can be all writable ones, and would be affordable if each were one block. */
static bool may_be_chosen(const ExtentChoice *choice, const BtrfsFamilies *families,
			  const ExtentNamed *named)
{
	Places least = { named->n_items, named->n_items * choice->pass->block_bytes };

	return named->root != 0 &&
	       !read_only_subvolumes_has(choice->pass->subvolumes, named->root) &&
	       (named->is_all || !btrfs_families_have_writable_snapshots(families)) &&
	       places_are_affordable(&least, choice->cost_max);
}

/*
 * Choose by what the extent's item names: with a hundred snapshots finding all references takes the kernel most of a
 * millisecond.  *ret is false if that has to be done.
 */
static bool choose_by_item(ExtentChoice *choice, const Object *extent, bool *ret, GError **error)
{
	BtrfsFamilies *families = btrfs_ref_bound_families(choice->pass->btrfs.ref_bound);
	const GArray *snapshots;
	ExtentNamed named;

	*ret = false;
	if (!btrfs_families_look(families, error) ||
	    !extent_refs_read_names(choice->refs, extent, PLACE_COST_PLACES_MAX, &named, error))
		return false;
	if (!may_be_chosen(choice, families, &named))
		return true;

	snapshots = btrfs_families_untouched(families, named.root);
	return !snapshots || choose_named(choice, extent, &named, snapshots, ret, error);
}

bool extent_choice_make(ExtentChoice *choice, const Object *extent, bool defers,
			ExtentRefsOutcome *ret, GError **error)
{
	bool by_item;

	choice->defers = defers;
	choice->is_listed = choice->is_left = false;
	g_array_set_size(choice->holders, 0);
	choice->cost_max = place_cost_most(choice->pass->btrfs.compare_factor, extent->size_bytes);
	if (!choose_by_item(choice, extent, &by_item, error))
		return false;
	if (by_item) {
		*ret = EXTENT_REFS_READ;
		return true;
	}

	g_array_set_size(choice->holders, 0);
	choice->all = choice->writable = (Places){ 0 };
	if (!extent_refs_find(choice->refs, extent, ret, error))
		return false;
	if (*ret != EXTENT_REFS_READ)
		return true;

	ref_groups_fill(choice->found, choice->refs, choice->pass->subvolumes);
	if (choice->found->len == 0) {
		*ret = EXTENT_REFS_GONE;
		return true;
	}

	if (!measure(choice, extent, error))
		return false;
	if (!pass_checkpoint(choice->pass)) {
		*ret = leave(choice);
		return true;
	}
	return choose(choice, extent, ret, error);
}

const GArray *extent_choice_holders(const ExtentChoice *choice)
{
	return choice->holders;
}

uint64_t extent_choice_compare_bytes(const ExtentChoice *choice)
{
	return 2 * choice->all.shown_bytes;
}

uint64_t extent_choice_affordable(const ExtentChoice *choice)
{
	double cost = (double)place_cost(choice->all.shown_bytes, choice->all.n);

	return cost > 0 ? (uint64_t)((double)choice->all.n * (double)cost_max_of_all(choice) / cost)
			: 0;
}

bool extent_choice_look(ExtentChoice *choice, const Object *extent, ExtentShown *ret,
			GError **error)
{
	ExtentRefsOutcome outcome;

	g_array_set_size(choice->holders, 0);
	*ret = EXTENT_IS_SHOWN;
	if (!extent_refs_find(choice->refs, extent, &outcome, error))
		return false;
	if (outcome == EXTENT_REFS_PARTIAL)
		return true;

	ref_groups_fill(choice->found, choice->refs, choice->pass->subvolumes);
	if (outcome == EXTENT_REFS_GONE || choice->found->len == 0) {
		*ret = EXTENT_IS_GONE;
		return true;
	}
	for (guint i = 0; i < choice->found->len; i++)
		if (!found_at(choice, i)->is_read_only)
			return true;

	*ret = EXTENT_IS_HELD;
	find_holders(choice);
	return true;
}
