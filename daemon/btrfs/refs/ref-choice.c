/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/refs/ref-choice.h"

#include "common/config/place-cost.h"
#include "daemon/btrfs/refs/ref-groups.h"
#include "hashstore/objects/holders.h"

#define NO_PLACE G_MAXSIZE

struct RefChoice {
	Pass *pass;
	ExtentRefs *refs;
	GArray *found; /* GroupedRef: groups of the same inode and offset, writable ones first in each */
	GArray *holders; /* uint64_t */
	Places all;
	Places writable;
	uint64_t cost_max;
	bool defers;
};

RefChoice *ref_choice_new(Pass *pass, ExtentRefs *refs)
{
	RefChoice *choice = g_new0(RefChoice, 1);

	choice->pass = pass;
	choice->refs = refs;
	extent_refs_use_windows(refs);
	choice->found = g_array_new(false, false, sizeof(GroupedRef));
	choice->holders = g_array_new(false, false, sizeof(uint64_t));
	return choice;
}

void ref_choice_free(RefChoice *choice)
{
	if (!choice)
		return;

	g_array_unref(choice->found);
	g_array_unref(choice->holders);
	g_free(choice);
}

static const GroupedRef *found_at(const RefChoice *choice, guint i)
{
	return ref_groups_at(choice->found, i);
}

static guint count_writable(const RefChoice *choice, guint begin, guint end)
{
	guint n = 0;

	while (begin + n < end && !found_at(choice, begin + n)->is_read_only)
		n++;
	return n;
}

/* The bytes that may be compared if read-only references are among them. */
static uint64_t cost_max_of_all(const RefChoice *choice)
{
	SnapshotPolicy policy = choice->pass->settings->read_only_snapshots;

	return places_cost_max(choice->defers && policy != SNAPSHOTS_SHARE ? SNAPSHOTS_WRITABLE
									   : policy,
			       &choice->all, &choice->writable, choice->cost_max,
			       choice->pass->btrfs.snapshots_rotate);
}

/* Look up the first reference of each group and sum up the cost of all.  Ends if it is too much for any choice. */
static bool measure(RefChoice *choice, const Object *extent, GError **error)
{
	choice->all = choice->writable = (Places){ 0 };
	for (guint i = 0; i < choice->found->len && pass_checkpoint(choice->pass);) {
		guint end = ref_groups_end(choice->found, i);
		guint n_writable = count_writable(choice, i, end);
		uint64_t length = 0;

		/* References of snapshots alone are not looked up if all cost too much already. */
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

/* Add the reference @i.  *ret_place is its number in the list; NO_PLACE: it references none of the extent. */
static bool add_found(RefChoice *choice, const Object *extent, guint i, size_t *ret_place,
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
 * The number in the list of the reference @i, if measure() added it; otherwise NO_PLACE.  *next is
 * its number if it is there: measure() adds the first of each group in their order, before all
 * others.
 */
static size_t measured_place(const RefChoice *choice, guint i, size_t *next)
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
 * Whether the references [@begin + 1, @end) belong to snapshots that nobody wrote to, the oldest first, and @begin
 * to their origin.
 */
static bool is_history(const RefChoice *choice, guint begin, guint end)
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
 * Add the references (@low, @high) of snapshots, the oldest first.  The ones before and after them were added as
 * @older and @newer.  If the file did not change between these two, the others are like them.
 */
static bool add_between(RefChoice *choice, const Object *extent, guint low, guint high,
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

/* Add the references [@begin + 1, @end) of a group; its first was added as @first. */
static bool add_group(RefChoice *choice, const Object *extent, guint begin, guint end, size_t first,
		      GError **error)
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

/* Look up the other references: all of them, or the writable ones. */
static bool add_others(RefChoice *choice, const Object *extent, bool all, GError **error)
{
	size_t next = 0;

	for (guint i = 0; i < choice->found->len;) {
		guint end = ref_groups_end(choice->found, i);
		guint n = all ? end - i : count_writable(choice, i, end);
		size_t first = measured_place(choice, i, &next);

		if (!add_group(choice, extent, i, i + n, first, error))
			return false;
		i = end;
	}

	return true;
}

static void find_holders(RefChoice *choice)
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

/* Whether there are references to share and others to leave, and the policy allows it. */
static bool has_both(const RefChoice *choice)
{
	return places_may_be_left(choice->pass->settings->read_only_snapshots, &choice->all,
				  &choice->writable);
}

/* The cost of all references that were looked up. */
static Places listed_places(const RefChoice *choice)
{
	const ExtentRef *refs;
	Places places = { 0 };
	size_t n;

	refs = extent_refs_list(choice->refs, &n);
	for (size_t i = 0; i < n; i++)
		places_add(&places, refs[i].length, 1);
	return places;
}

static ExtentRefsOutcome leave(const RefChoice *choice)
{
	return extent_refs_leave(choice->refs, &found_at(choice, 0)->ref);
}

/* Choose all references if they are worth it.  The others count, too: an overwritten file has more in snapshots. */
static bool choose_all(RefChoice *choice, const Object *extent, bool *ret, GError **error)
{
	*ret = places_are_affordable(&choice->all, cost_max_of_all(choice));
	if (!*ret)
		return true;
	if (!add_others(choice, extent, true, error))
		return false;

	choice->all = listed_places(choice);
	*ret = places_are_affordable(&choice->all, cost_max_of_all(choice));
	return true;
}

static bool choose(RefChoice *choice, const Object *extent, ExtentRefsOutcome *ret, GError **error)
{
	SnapshotPolicy policy = choice->pass->settings->read_only_snapshots;
	bool was_measured = places_are_affordable(&choice->all, cost_max_of_all(choice));
	bool all;

	*ret = extent_refs_outcome(choice->refs);
	/* They may not be redirected; the caller reports this. */
	if (policy == SNAPSHOTS_WRITABLE && choice->writable.n == 0)
		return true;
	if (!choose_all(choice, extent, &all, error))
		return false;
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
	/* An extent that was overwritten a moment ago is not gone. */
	if (!all && *ret == EXTENT_REFS_GONE)
		*ret = leave(choice);
	return true;
}

bool ref_choice_may_defer(const RefChoice *choice)
{
	return choice->holders->len == 0 && has_both(choice);
}

/*
 * Find which of @snapshots, to which nobody wrote, hold the extent: those made since it was allocated.  If the
 * oldest and the newest of them have the reference at @place, those between do, too.  *ret_length: the bytes that
 * each has there at least; 0: not known.
 */
static bool find_snapshots(RefChoice *choice, const Object *extent, const GArray *snapshots,
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
 * Choose all references of an extent that only leaves of one subvolume have: in that one and in its @snapshots, if
 * these are affordable.  A snapshot made since the leaves were written has them, too, so it need not be looked at.
 * An older one has none of them, and its own would be named by leaf.
 */
static bool choose_all_named(RefChoice *choice, const ExtentNamed *named, const GArray *snapshots)
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
		/* The inode may be in another leaf, which is older or newer. */
		if (one->otransid < newest_leaf)
			return false;
		choice->all.n += choice->writable.n;
		choice->all.shown_bytes += choice->writable.shown_bytes;
	}
	if (!places_are_affordable(&choice->all, cost_max_of_all(choice)))
		return false;

	/* Adding moves the list. */
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
 * Choose references of an extent that is in one subvolume and in its @snapshots only.  *ret is true
 * if all are known and affordable.  It is also true if there are snapshots, and only the writable
 * references are affordable.
 */
static bool choose_named(RefChoice *choice, const Object *extent, const ExtentNamed *named,
			 const GArray *snapshots, bool *ret, GError **error)
{
	SnapshotPolicy policy = choice->pass->settings->read_only_snapshots;
	bool may_be_left = policy == SNAPSHOTS_AUTO || policy == SNAPSHOTS_WRITABLE;
	const ExtentRef *places;
	uint64_t n_holders, length;
	size_t n;

	*ret = false;
	if (snapshots->len > 0 && !may_be_left && !named->is_all)
		return true;
	/* If there is one more than the item counts, a file was overwritten since the last commit. */
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

	/* If the file was overwritten since, snapshots have more of it.  If it was cloned since, they lack that. */
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

/* Whether the named references can be all writable ones, and would be affordable with one block each. */
static bool may_be_chosen(const RefChoice *choice, const BtrfsFamilies *families,
			  const ExtentNamed *named)
{
	Places least = { named->n_items, named->n_items * choice->pass->block_bytes };

	return named->root != 0 &&
	       !read_only_subvolumes_has(choice->pass->subvolumes, named->root) &&
	       (named->is_all || !btrfs_families_have_writable_snapshots(families)) &&
	       places_are_affordable(&least, choice->cost_max);
}

/*
 * Choose by the references that the item names.  With a hundred snapshots, finding all references takes the kernel
 * most of a millisecond.  *ret is false if that has to be done.
 */
static bool choose_by_item(RefChoice *choice, const Object *extent, bool *ret, GError **error)
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

bool ref_choice_make(RefChoice *choice, const Object *extent, bool defers, ExtentRefsOutcome *ret,
		     GError **error)
{
	bool by_item;

	choice->defers = defers;
	g_array_set_size(choice->holders, 0);
	choice->cost_max = place_cost_most(choice->pass->account.factor, extent->size_bytes);
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

const GArray *ref_choice_holders(const RefChoice *choice)
{
	return choice->holders;
}

uint64_t ref_choice_compare_bytes(const RefChoice *choice)
{
	return 2 * choice->all.shown_bytes;
}

uint64_t ref_choice_affordable(const RefChoice *choice)
{
	double cost = (double)place_cost(choice->all.shown_bytes, choice->all.n);

	return cost > 0 ? (uint64_t)((double)choice->all.n * (double)cost_max_of_all(choice) / cost)
			: 0;
}

bool ref_choice_look(RefChoice *choice, const Object *extent, ExtentShown *ret, GError **error)
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
