/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/snapshots/subvolume-trees.h"

#include "kernel-ioctl/btrfs/btrfs-subvolumes.h"

#define WORD_BITS 64

/* Limits of searches for replacements of reused nodes, and of such nodes. */
#define LOST_TRIES 4
#define LOST_MAX   4096

/* A node that is still to be read. */
typedef struct {
	uint64_t bytenr;
	uint64_t generation;
	BtrfsKey first; /* no key below it is smaller */
	BtrfsKey end;   /* all keys below it are smaller */
	/*
	 * Whether a subvolume that is not deleted refers to it in this way.  The kernel frees blocks of a
	 * deleted subvolume while nodes above still refer to them, and others may have reused them.
	 */
	bool is_live;
} Visit;

typedef struct {
	BtrfsKey first; /* no key in it is smaller */
	uint64_t bytenr;
} Leaf;

/* The leaves below one node. */
typedef struct {
	guint first; /* among all leaves */
	guint n;
	BtrfsKey end;
} LeafList;

struct SubvolumeTrees {
	const GArray *subvolumes;
	RootSets *sets;
	const TreeSource *source;
	BlockHolders *blocks;
	GArray *visits[BTRFS_NODE_LEVELS]; /* Visit; none of level 0 */
	uint64_t *live;                    /* bits of subvolumes that are not deleted */
	GArray *leaves;                    /* Leaf */
	GArray *lists;                     /* LeafList */
	GArray *lost;                      /* Visit: nodes of the current level that were reused */
	guint n_lost;                      /* on all levels */
	guint n_searched;                  /* nodes read to replace them */
	GArray **own;                      /* per subvolume: guint, lists by their first key */
};

static const BtrfsKey key_least = { 0, 0, 0 };
static const BtrfsKey key_most = { UINT64_MAX, UINT8_MAX, UINT64_MAX };

void subvolume_trees_free(SubvolumeTrees *trees)
{
	if (!trees)
		return;

	for (guint level = 0; level < BTRFS_NODE_LEVELS; level++)
		g_clear_pointer(&trees->visits[level], g_array_unref);
	for (guint i = 0; i < trees->subvolumes->len; i++)
		g_array_unref(trees->own[i]);
	block_holders_free(trees->blocks);
	g_array_unref(trees->leaves);
	g_array_unref(trees->lists);
	g_array_unref(trees->lost);
	g_free(trees->live);
	g_free(trees->own);
	g_free(trees);
}

const BlockHolders *subvolume_trees_blocks(const SubvolumeTrees *trees)
{
	return trees->blocks;
}

static const BtrfsSubvolume *subvolume_at(const SubvolumeTrees *trees, guint member)
{
	return &g_array_index(trees->subvolumes, BtrfsSubvolume, member);
}

static SubvolumeTrees *trees_new(const GArray *subvolumes, RootSets *sets, const TreeSource *source)
{
	SubvolumeTrees *trees = g_new0(SubvolumeTrees, 1);

	trees->subvolumes = subvolumes;
	trees->sets = sets;
	trees->source = source;
	trees->blocks = block_holders_new(sets);
	trees->leaves = g_array_new(false, false, sizeof(Leaf));
	trees->lists = g_array_new(false, false, sizeof(LeafList));
	trees->lost = g_array_new(false, false, sizeof(Visit));
	trees->live = g_new0(uint64_t, root_sets_words(sets));
	trees->own = g_new0(GArray *, subvolumes->len + 1);
	for (guint level = 0; level < BTRFS_NODE_LEVELS; level++)
		trees->visits[level] = g_array_new(false, false, sizeof(Visit));
	for (guint i = 0; i < subvolumes->len; i++) {
		trees->own[i] = g_array_new(false, false, sizeof(guint));
		if (!subvolume_at(trees, i)->is_dead)
			trees->live[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
	}
	return trees;
}

bool subvolume_trees_find(const SubvolumeTrees *trees, uint64_t id, guint *ret)
{
	const BtrfsSubvolume *found = btrfs_subvolumes_find(trees->subvolumes, id);

	if (found)
		*ret = (guint)(found - subvolume_at(trees, 0));
	return found;
}

static bool has_member(const SubvolumeTrees *trees, RootSet set, guint member)
{
	return root_sets_bits(trees->sets, set)[member / WORD_BITS] >> member % WORD_BITS & 1;
}

static bool is_live(const SubvolumeTrees *trees, RootSet set)
{
	const uint64_t *bits = root_sets_bits(trees->sets, set);

	for (guint i = 0; i < root_sets_words(trees->sets); i++)
		if (bits[i] & trees->live[i])
			return true;
	return false;
}

/* The tree is a leaf. */
static void add_only_leaf(SubvolumeTrees *trees, guint member, uint64_t bytenr)
{
	const Leaf leaf = { key_least, bytenr };
	const LeafList list = { trees->leaves->len, 1, key_most };

	g_array_append_val(trees->own[member], trees->lists->len);
	g_array_append_val(trees->lists, list);
	g_array_append_val(trees->leaves, leaf);
}

/* The blocks at the top. */
static bool begin(SubvolumeTrees *trees, GError **error)
{
	for (guint i = 0; i < trees->subvolumes->len; i++) {
		const BtrfsSubvolume *subvolume = subvolume_at(trees, i);
		const Visit visit = { subvolume->tree_bytenr, subvolume->generation, key_least,
				      key_most, !subvolume->is_dead };

		if (subvolume->tree_level >= BTRFS_NODE_LEVELS) {
			g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_IO,
				    "cannot read the tree of subvolume %" G_GUINT64_FORMAT
				    ": its item is damaged",
				    subvolume->id);
			return false;
		}

		block_holders_add(trees->blocks, visit.bytenr, root_sets_of_one(trees->sets, i));
		if (subvolume->tree_level > 0) {
			g_array_append_val(trees->visits[subvolume->tree_level], visit);
			continue;
		}

		add_only_leaf(trees, i, visit.bytenr);
	}

	return true;
}

/* In the order of the disk.  For one address, certain visits come first, then the nearest end. */
static int compare_visits(const void *one, const void *other)
{
	const Visit *a = one, *b = other;

	if (a->bytenr != b->bytenr)
		return a->bytenr < b->bytenr ? -1 : 1;
	if (a->is_live != b->is_live)
		return a->is_live ? -1 : 1;
	if (a->generation != b->generation)
		return a->generation > b->generation ? -1 : 1;
	return btrfs_key_compare(&a->end, &b->end);
}

/*
 * Record a node for its owner, whose references name the leaves below.  Relocation makes nodes without an
 * owner, above leaves that their owners may still name.
 */
static void keep_list(SubvolumeTrees *trees, const BtrfsNode *node, RootSet set, guint list)
{
	guint owner;

	if (node->owner == BTRFS_NODE_OWNER_RELOCATION) {
		for (guint i = 0; i < trees->subvolumes->len; i++)
			if (has_member(trees, set, i))
				g_array_append_val(trees->own[i], list);
	} else if (subvolume_trees_find(trees, node->owner, &owner) &&
		   has_member(trees, set, owner)) {
		g_array_append_val(trees->own[owner], list);
	}
}

static void visit_bottom(SubvolumeTrees *trees, const BtrfsNode *node, const Visit *visit,
			 RootSet set)
{
	const LeafList list = { trees->leaves->len, node->n_children, visit->end };
	const guint index = trees->lists->len;
	BtrfsNodeChild child;
	guint owner;

	for (uint32_t i = 0; i < node->n_children; i++) {
		btrfs_node_child(node, i, &child);
		block_holders_add(trees->blocks, child.bytenr, set);
	}

	if (node->owner != BTRFS_NODE_OWNER_RELOCATION &&
	    !(subvolume_trees_find(trees, node->owner, &owner) && has_member(trees, set, owner)))
		return;
	for (uint32_t i = 0; i < node->n_children; i++) {
		btrfs_node_child(node, i, &child);
		const Leaf leaf = { child.key, child.bytenr };
		g_array_append_val(trees->leaves, leaf);
	}
	g_array_append_val(trees->lists, list);
	keep_list(trees, node, set, index);
}

/* The child @i of the node of @above: its keys end where those of the next child begin. */
static Visit visit_of_child(const BtrfsNode *node, uint32_t i, const Visit *above, bool is_live)
{
	Visit below = { .end = above->end, .is_live = is_live };
	BtrfsNodeChild child, next;

	btrfs_node_child(node, i, &child);
	if (i + 1 < node->n_children) {
		btrfs_node_child(node, i + 1, &next);
		below.end = next.key;
	}
	below.bytenr = child.bytenr;
	below.generation = child.generation;
	below.first = child.key;
	return below;
}

static void visit_above(SubvolumeTrees *trees, const BtrfsNode *node, const Visit *visit,
			RootSet set)
{
	const bool is_held = is_live(trees, set);

	for (uint32_t i = 0; i < node->n_children; i++) {
		Visit below = visit_of_child(node, i, visit, is_held);

		block_holders_add(trees->blocks, below.bytenr, set);
		g_array_append_val(trees->visits[node->level - 1], below);
	}
}

static bool visit(SubvolumeTrees *trees, const Visit *visit, uint8_t level, GError **error)
{
	g_autoptr(GError) cause = NULL;
	RootSet set = ROOT_SET_EMPTY;
	BtrfsNode node;

	(void)block_holders_find(trees->blocks, visit->bytenr, &set);
	if (!trees->source->read_node(trees->source->data, visit->bytenr, visit->generation, level,
				      &node, &cause)) {
		if (!visit->is_live)
			return true;
		if (g_error_matches(cause, G_FILE_ERROR, G_FILE_ERROR_AGAIN) &&
		    trees->n_lost++ < LOST_MAX) {
			g_array_append_val(trees->lost, *visit);
			return true;
		}
		g_propagate_error(error, g_steal_pointer(&cause));
		return false;
	}

	if (level == 1)
		visit_bottom(trees, &node, visit, set);
	else
		visit_above(trees, &node, visit, set);
	return true;
}

static bool visit_all(SubvolumeTrees *trees, GArray *visits, uint8_t level, GError **error)
{
	uint64_t before = 0;

	g_array_sort(visits, compare_visits);
	for (guint i = 0; i < visits->len; i++) {
		const Visit *next = &g_array_index(visits, Visit, i);

		if (next->bytenr != before && !visit(trees, next, level, error))
			return false;
		before = next->bytenr;
	}

	return true;
}

/* The replacement of a reused node in the tree of a subvolume. */
typedef struct {
	const Visit *lost;
	uint8_t level;
	guint member;
	GArray *visits; /* Visit, of that level */
} Search;

static void take_found(SubvolumeTrees *trees, const Search *search, const Visit *found,
		       uint8_t level)
{
	block_holders_add(trees->blocks, found->bytenr,
			  root_sets_of_one(trees->sets, search->member));
	if (level == search->level)
		g_array_append_val(search->visits, *found);
	else if (level > 0)
		g_array_append_val(trees->visits[level], *found);
	else
		add_only_leaf(trees, search->member, found->bytenr);
}

/* The children of @node that may have keys of the lost node (Visit). */
static GArray *children_in(const BtrfsNode *node, const Visit *above, const Visit *lost)
{
	GArray *children = g_array_new(false, false, sizeof(Visit));

	for (uint32_t i = 0; i < node->n_children; i++) {
		Visit below = visit_of_child(node, i, above, true);

		if (btrfs_key_compare(&below.first, &lost->end) < 0 &&
		    btrfs_key_compare(&lost->first, &below.end) < 0)
			g_array_append_val(children, below);
	}

	return children;
}

/*
 * Descend from @from, a node of the level @level.  Returns false without an error if a node on the way was
 * reused, too.
 */
static bool search_below(SubvolumeTrees *trees, const Search *search, const Visit *from,
			 uint8_t level)
{
	g_autoptr(GArray) children = NULL;
	BtrfsNode node;

	if (level <= search->level) {
		take_found(trees, search, from, level);
		return true;
	}
	if (trees->n_searched++ >= TREE_SEARCHES_MAX ||
	    !trees->source->read_node(trees->source->data, from->bytenr, from->generation, level,
				      &node, NULL))
		return false;

	/* The node is valid until the next one is read. */
	children = children_in(&node, from, search->lost);
	for (guint i = 0; i < children->len; i++)
		if (!search_below(trees, search, &g_array_index(children, Visit, i), level - 1))
			return false;
	return true;
}

/* Search the current trees of all holders for replacements of search->lost.  Deleted holders have none. */
static bool search_all(SubvolumeTrees *trees, Search *search, const GArray *now)
{
	RootSet set = ROOT_SET_EMPTY;

	(void)block_holders_find(trees->blocks, search->lost->bytenr, &set);
	for (search->member = 0; search->member < trees->subvolumes->len; search->member++) {
		const BtrfsSubvolume *known = subvolume_at(trees, search->member);
		const BtrfsSubvolume *subvolume = btrfs_subvolumes_find(now, known->id);

		if (!has_member(trees, set, search->member) || !subvolume)
			continue;
		const Visit top = { subvolume->tree_bytenr, subvolume->generation, key_least,
				    key_most, true };
		if (!subvolume->is_dead && subvolume->tree_level < BTRFS_NODE_LEVELS &&
		    !search_below(trees, search, &top, subvolume->tree_level))
			return false;
	}

	return true;
}

/* Read the replacements of reused nodes.  Replacements that are reused by then are lost again. */
static bool replace_lost(SubvolumeTrees *trees, uint8_t level, GError **error)
{
	g_autoptr(GArray) lost = g_steal_pointer(&trees->lost);
	g_autoptr(GArray) visits = g_array_new(false, false, sizeof(Visit));
	g_autoptr(GArray) now = NULL;

	trees->lost = g_array_new(false, false, sizeof(Visit));
	if (!trees->source->read_subvolumes(trees->source->data, &now, error))
		return false;

	for (guint i = 0; i < lost->len; i++) {
		Search search = { &g_array_index(lost, Visit, i), level, 0, visits };

		if (!search_all(trees, &search, now))
			g_array_append_val(trees->lost, *search.lost);
	}
	return visit_all(trees, visits, level, error);
}

static bool find_lost(SubvolumeTrees *trees, uint8_t level, GError **error)
{
	for (unsigned i = 0; i < LOST_TRIES && trees->lost->len > 0; i++)
		if (!replace_lost(trees, level, error))
			return false;
	if (trees->lost->len == 0)
		return true;

	g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_AGAIN,
		    "cannot read the trees of the btrfs: the block at %" G_GUINT64_FORMAT
		    " was reused meanwhile, or is damaged",
		    g_array_index(trees->lost, Visit, 0).bytenr);
	return false;
}

static bool visit_level(SubvolumeTrees *trees, uint8_t level, GError **error)
{
	if (!visit_all(trees, trees->visits[level], level, error) ||
	    !find_lost(trees, level, error))
		return false;

	g_clear_pointer(&trees->visits[level], g_array_unref);
	return true;
}

static const LeafList *list_at(const SubvolumeTrees *trees, guint member, guint i)
{
	guint index = g_array_index(trees->own[member], guint, i);

	return &g_array_index(trees->lists, LeafList, index);
}

static const Leaf *leaf_at(const SubvolumeTrees *trees, const LeafList *list, guint i)
{
	return &g_array_index(trees->leaves, Leaf, list->first + i);
}

static int compare_lists(const void *one, const void *other, void *data)
{
	const SubvolumeTrees *trees = data;
	const LeafList *a = &g_array_index(trees->lists, LeafList, *(const guint *)one);
	const LeafList *b = &g_array_index(trees->lists, LeafList, *(const guint *)other);

	return btrfs_key_compare(&leaf_at(trees, a, 0)->first, &leaf_at(trees, b, 0)->first);
}

SubvolumeTrees *subvolume_trees_read(const GArray *subvolumes, RootSets *sets,
				     const TreeSource *source, GError **error)
{
	g_autoptr(SubvolumeTrees) trees = trees_new(subvolumes, sets, source);

	if (!begin(trees, error))
		return NULL;
	for (uint8_t level = BTRFS_NODE_LEVELS - 1; level > 0; level--)
		if (!visit_level(trees, level, error))
			return NULL;

	for (guint i = 0; i < subvolumes->len; i++)
		g_array_sort_with_data(trees->own[i], compare_lists, trees);
	return g_steal_pointer(&trees);
}

/* The last list that begins at or before @key; 0 if there is none. */
static guint find_list(const SubvolumeTrees *trees, guint member, const BtrfsKey *key)
{
	guint low = 0, high = trees->own[member]->len;

	while (low < high) {
		guint middle = low + (high - low) / 2;
		const LeafList *list = list_at(trees, member, middle);

		if (btrfs_key_compare(&leaf_at(trees, list, 0)->first, key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}

	return low > 0 ? low - 1 : 0;
}

/* The same for the leaves in a list. */
static guint find_leaf(const SubvolumeTrees *trees, const LeafList *list, const BtrfsKey *key)
{
	guint low = 0, high = list->n;

	while (low < high) {
		guint middle = low + (high - low) / 2;

		if (btrfs_key_compare(&leaf_at(trees, list, middle)->first, key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}

	return low > 0 ? low - 1 : 0;
}

void own_leaves_start(OwnLeaves *leaves, const SubvolumeTrees *trees, guint member,
		      const BtrfsKey *first, const BtrfsKey *last)
{
	*leaves = (OwnLeaves){ .trees = trees, .member = member, .last = *last };
	leaves->list = find_list(trees, member, first);
	if (leaves->list >= trees->own[member]->len)
		return;

	const LeafList *list = list_at(trees, member, leaves->list);
	/* Between two lists there may be leaves of others. */
	if (btrfs_key_compare(&list->end, first) <= 0)
		leaves->list++;
	else
		leaves->leaf = find_leaf(trees, list, first);
}

bool own_leaves_next(OwnLeaves *leaves, uint64_t *ret)
{
	while (leaves->list < leaves->trees->own[leaves->member]->len) {
		const LeafList *list = list_at(leaves->trees, leaves->member, leaves->list);

		if (leaves->leaf >= list->n) {
			leaves->list++;
			leaves->leaf = 0;
			continue;
		}

		const Leaf *leaf = leaf_at(leaves->trees, list, leaves->leaf++);
		if (btrfs_key_compare(&leaf->first, &leaves->last) > 0)
			return false;
		*ret = leaf->bytenr;
		return true;
	}

	return false;
}
