-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- pieces: the cells of each unit, with who else has them.  Each of n copies within the unit counts as 1/n.
--
-- Equal data within a unit ends somewhere, too.  Behind an anchor with n different neighbours, data that these have in
-- common is found n times.  It ends before b + k + w.  behind_again is what is found too often on average, and
-- behind_least lacks the most that is possible.  The same holds ahead of the anchor.
CREATE OR REPLACE TEMPORARY VIEW pieces AS
SELECT c.store, c.object, c.place, c.digest, c.unit, c.before, c.after, h.holders, h.forked,
	c.ahead + c.behind AS stored,
	COALESCE(b.holders, h.holders) AS before_holders,
	c.ahead / COALESCE(b.copies, h.copies) AS ahead,
	c.ahead_end / COALESCE(b.copies, h.copies) AS ahead_end,
	COALESCE(c.ahead_end / b.copies * b.others / (b.others + 1), 0) AS ahead_again,
	c.ahead_least / COALESCE(b.copies, h.copies)
		- COALESCE(c.rise_most / b.copies * b.others / (b.others + 1), 0) AS ahead_least,
	c.ahead_most / COALESCE(b.copies, h.copies) AS ahead_most,
	CASE WHEN c.follows THEN 0 ELSE c.ahead_most / COALESCE(b.copies, h.copies) END AS ahead_whole,
	COALESCE(a.holders, h.holders) AS after_holders,
	c.behind / COALESCE(a.copies, h.copies) AS behind,
	c.behind_end / COALESCE(a.copies, h.copies) AS behind_end,
	COALESCE(c.behind_end / a.copies * a.others / (a.others + 1), 0) AS behind_again,
	c.behind_least / COALESCE(a.copies, h.copies)
		- COALESCE(c.fall_most / a.copies * a.others / (a.others + 1), 0) AS behind_least,
	c.behind_most / COALESCE(a.copies, h.copies) AS behind_most,
	CASE WHEN c.leads THEN c.behind ELSE c.behind_most END / COALESCE(a.copies, h.copies) AS behind_whole
FROM unit_cells c
JOIN held h ON h.digest = c.digest AND h.unit = c.unit
LEFT JOIN forks b ON b.digest = c.digest AND b.unit = c.unit AND b.side = 'before' AND b.neighbour = c.before
LEFT JOIN forks a ON a.digest = c.digest AND a.unit = c.unit AND a.side = 'after' AND a.neighbour = c.after
