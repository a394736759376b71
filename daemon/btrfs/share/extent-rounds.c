/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/btrfs/share/extent-rounds.h"

#include "common/content/remainder.h"
#include "common/content/run.h"
#include "daemon/btrfs/find/stretch-runs.h"
#include "daemon/btrfs/pinned/pinned-extents.h"
#include "daemon/btrfs/plan/block-search.h"
#include "daemon/btrfs/share/extent-share.h"
#include "daemon/btrfs/share/resume-point.h"
#include "daemon/match/match.h"
#include "daemon/match/run-order.h"
#include "daemon/share/page-cache-drop.h"
#include "daemon/share/share.h"
#include "hashstore/anchors/sorter.h"
#include "hashstore/objects/objects.h"

/* The extents that are targets in a part of a round. */
typedef enum {
	WANTS_ALL,
	WANTS_BEGUN, /* the resume point */
	WANTS_LONG,  /* all other long ones */
	WANTS_SHORT, /* all others */
} Wants;

typedef struct {
	Pass *pass;
	ExtentSums *sums;
	ObjectTable *table;
	Wants wants;
	uint32_t begun; /* 0: none was */
	ShareRound round;
} ExtentRounds;

static Sorter *new_runs(const Pass *pass)
{
	return sorter_new(sizeof(Run), run_compare, pass->settings->memory_bytes / 4,
			  pass->settings->state_directory, pass->stop);
}

static bool may_share_more(const Pass *pass)
{
	return pass_checkpoint(pass) && !pass->result->stopped_reason;
}

static bool is_wanted(uint32_t target, void *data)
{
	const ExtentRounds *rounds = data;

	if (!object_table_is_extent(target, rounds->table))
		return false;

	switch (rounds->wants) {
	case WANTS_ALL:
		return true;
	case WANTS_BEGUN:
		return target == rounds->begun;
	case WANTS_LONG:
		return target != rounds->begun && object_table_is_long(rounds->table, target);
	case WANTS_SHORT:
		break;
	}

	return target != rounds->begun && !object_table_is_long(rounds->table, target);
}

static bool share_wanted(ExtentRounds *rounds, Wants wants, Sorter *runs, GError **error)
{
	g_autoptr(RunOrder) order = run_order_new(runs, is_wanted, rounds);

	rounds->wants = wants;
	return extents_share(rounds->pass, rounds->sums, rounds->table, order, &rounds->round,
			     error);
}

/* Share files without checksums; their @runs begin again from the first. */
static bool share_files(ExtentRounds *rounds, FileOpener *opener, Sorter *runs, GError **error)
{
	g_autoptr(RunOrder) order = run_order_new(runs, object_table_is_file, rounds->table);
	Pass *pass = rounds->pass;
	uint64_t before = pass->result->shared.runs;

	if (pass->result->stopped_reason)
		return true;
	if (!sorter_rewind(runs, error) || !share_all(pass, order, opener, error))
		return false;

	pass->n_file_runs += pass->result->shared.runs - before;
	return page_cache_drop_kept(pass, opener, error);
}

/* Match all objects; *ret is NULL if the pass was stopped. */
static bool match(ExtentRounds *rounds, FileOpener *opener, Sorter **ret, GError **error)
{
	Pass *pass = rounds->pass;
	g_autoptr(Sorter) found = new_runs(pass);
	g_autoptr(Sorter) runs = new_runs(pass);
	uint64_t blocks = 0;

	*ret = NULL;
	extent_sums_forget(rounds->sums);
	progress_begin(pass->progress, STAGE_MATCH, 0);
	if (!match_all(pass, rounds->table, opener, found, &blocks, error) ||
	    !stretch_runs_resolve(pass, rounds->sums, rounds->table, found, runs, error))
		return false;
	if (!pass_checkpoint(pass))
		return true;

	progress_begin(pass->progress, STAGE_SHARE, 0);
	*ret = g_steal_pointer(&runs);
	return true;
}

/*
 * Try long extents once more, with all extents that have any of their blocks.  Sources so far may be targets now: their
 * items in the extent tree have the new references only after a commit.
 */
static bool search_blocks(ExtentRounds *rounds, GError **error)
{
	g_autoptr(BlockSearch) search = g_steal_pointer(&rounds->round.search);
	g_autoptr(Sorter) runs = new_runs(rounds->pass);
	bool done = true;

	if (may_share_more(rounds->pass) &&
	    (!block_search_run(search, runs, error) || !sorter_sort(runs, error) ||
	     (sorter_count(runs) > 0 && !pass_flush_shared(rounds->pass, error))))
		return false;
	rounds->round.sources = block_search_sources(search);
	if (may_share_more(rounds->pass) && sorter_count(runs) > 0)
		done = share_wanted(rounds, WANTS_ALL, runs, error);
	rounds->round.sources = NULL;

	return done && block_search_end(search, error);
}

static bool first_round(ExtentRounds *rounds, GError **error)
{
	Pass *pass = rounds->pass;
	g_autoptr(FileOpener) opener = file_opener_new(pass->filesystem, pass->store);
	g_autoptr(Sorter) runs = NULL;

	if (!match(rounds, opener, &runs, error))
		return false;
	if (!runs)
		return true;
	rounds->round.search = block_search_new(pass, rounds->sums, rounds->table);
	if (!resume_point_take(pass, &rounds->begun, error))
		return false;
	if (rounds->begun &&
	    (!share_wanted(rounds, WANTS_BEGUN, runs, error) || !sorter_rewind(runs, error)))
		return false;

	return share_wanted(rounds, WANTS_LONG, runs, error) && search_blocks(rounds, error) &&
	       sorter_rewind(runs, error) && share_wanted(rounds, WANTS_SHORT, runs, error) &&
	       share_files(rounds, opener, runs, error);
}

static bool second_round(ExtentRounds *rounds, GError **error)
{
	Pass *pass = rounds->pass;
	g_autoptr(FileOpener) opener = file_opener_new(pass->filesystem, pass->store);
	g_autoptr(Sorter) runs = NULL;

	rounds->round.is_news = false;
	pass->result->shared.capped = 0;
	return match(rounds, opener, &runs, error) &&
	       (!runs || share_wanted(rounds, WANTS_ALL, runs, error));
}

/*
 * Whether @source was a target before its equals were pinned, and others were shared with it.  With these as
 * sources it might have fewer pieces.
 */
static bool had_few_sources(unsigned facts, PinCause cause)
{
	return facts & FACT_LOCKED && cause == PIN_PIECES;
}

/*
 * Whether @source, which is pinned by @known, would lack too much for a copy even with all that the new equals have.
 * A compressed extent may lack more than it takes on the disk.
 */
static bool lacks_too_much(const ExtentRounds *rounds, const Object *source,
			   const PinnedExtent *known, const ReplanEntry *entry)
{
	uint64_t lacks = known->uncovered_bytes;
	uint64_t equal = entry->equal_blocks * rounds->pass->block_bytes;

	return pinned_extents_is_untouched(rounds->pass->btrfs.pinned, source) &&
	       known->cause == PIN_UNCOVERED && lacks <= source->size_bytes && lacks > equal &&
	       !remainder_may_be_worth(&rounds->pass->btrfs.remainders, lacks - equal,
				       source->size_bytes);
}

/* Whether @source, which has @facts, may be freed if it is planned once more. */
static bool may_be_freed(const ExtentRounds *rounds, const Object *source, const ReplanEntry *entry,
			 unsigned facts, bool *ret, GError **error)
{
	PinnedExtent known;
	bool found;

	*ret = true;
	if (replan_entry_is_early(entry))
		return true;
	if (!hash_store_find_pinned(rounds->pass->store, source->inode, &known, &found, error))
		return false;
	if (!found)
		*ret = !(facts & FACT_PINNED);
	else if (facts & FACT_PINNED)
		*ret = had_few_sources(facts, known.cause);
	else
		*ret = !lacks_too_much(rounds, source, &known, entry);
	return true;
}

/* Plan @source once more; @may_wait: if an earlier one needs its data, after that. */
static void replan(ExtentRounds *rounds, const Object *source, const ReplanEntry *entry,
		   bool may_wait)
{
	Pass *pass = rounds->pass;

	if (may_wait && replan_list_is_needed(rounds->round.replan, entry))
		pinned_extents_replan_later(pass->btrfs.pinned, source->inode, entry->marks);
	else if (pinned_extents_replan(pass->btrfs.pinned, source->inode, entry->marks))
		pass->btrfs.n_replanned++;
}

/*
 * After all else was shared, plan sources of pinned extents once more.  Some were no targets: earlier passes settled
 * them, or others were shared with them.  Others were targets too early.  An extent that snapshots hold has no
 * writable reference left to share away.
 */
static bool replan_sources(ExtentRounds *rounds, GError **error)
{
	Pass *pass = rounds->pass;
	GHashTableIter iterator;
	gpointer id, value;

	pass->btrfs.n_waited += pinned_extents_replan_waiting(pass->btrfs.pinned);
	replan_list_iterate(rounds->round.replan, &iterator);
	while (may_share_more(pass) && g_hash_table_iter_next(&iterator, &id, &value)) {
		unsigned facts = object_table_facts(rounds->table, GPOINTER_TO_UINT(id));
		const ReplanEntry *entry = value;
		bool is_early = replan_entry_is_early(entry);
		bool found, may;
		Object source;

		if ((!is_early && !(facts & (FACT_SETTLED | FACT_LOCKED))) ||
		    facts & (FACT_MOVED | FACT_BARRED | FACT_AWAY | FACT_OUTSIDE | FACT_HELD) ||
		    !object_table_is_extent(GPOINTER_TO_UINT(id), rounds->table))
			continue;
		if (!hash_store_peek(pass->store, GPOINTER_TO_UINT(id), &source, &found, error))
			return false;
		if (!found || source.state != OBJECT_DONE)
			continue;
		if (!may_be_freed(rounds, &source, entry, facts, &may, error))
			return false;
		if (may)
			replan(rounds, &source, entry, facts & FACT_PINNED && !is_early);
	}

	return true;
}

bool extent_rounds_share(Pass *pass, ExtentSums *sums, ObjectTable *table, GError **error)
{
	g_autoptr(ReplanList) replan =
		replan_list_new(pass->block_bytes, hash_store_certain_blocks(pass->store));
	ExtentRounds rounds = {
		.pass = pass,
		.sums = sums,
		.table = table,
		.round = { .is_news = true, .replan = replan },
	};
	bool done = first_round(&rounds, error) &&
		    (rounds.round.n_pinned == 0 || !may_share_more(pass) ||
		     second_round(&rounds, error)) &&
		    replan_sources(&rounds, error);

	block_search_free(rounds.round.search);
	return done;
}
