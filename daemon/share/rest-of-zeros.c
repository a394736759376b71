/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/share/rest-of-zeros.h"

bool rest_of_zeros_finish(RestOfZeros *rest, RunSharer *runs, GError **error)
{
	const OpenObject *target = run_sharer_target(runs);
	Run run = rest->behind_hole;

	rest->behind_hole.blocks = 0;
	if (run.blocks == 0 || !target || run_target(&run) != target->id || !target->is_usable ||
	    run.target_block >= target->blocks)
		return true;

	/* If it is zeros, it is extended as long as there are more. */
	return share_run(runs, &run, NULL, error);
}

bool rest_of_zeros_share_run(RestOfZeros *rest, RunSharer *runs, const Run *run,
			     uint32_t block_bytes, GError **error)
{
	uint64_t data_block =
		open_object_skip_hole(run_sharer_target(runs), run->target_block, block_bytes);

	if (data_block > run->target_block) {
		rest->behind_hole = *run;
		rest->behind_hole.target_block = data_block;
		rest->behind_hole.blocks = 1;
	} else if (!rest_of_zeros_finish(rest, runs, error)) {
		return false;
	}

	/* Of a hole, nothing is read. */
	return !run_sharer_target(runs)->is_usable || share_run(runs, run, NULL, error);
}
