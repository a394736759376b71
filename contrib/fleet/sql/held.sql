-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- held: which unit has each digest, how often, and how many units have it.  A digest is forked if it has different
-- neighbours in two places.
CREATE TABLE held AS
WITH counted AS (
	SELECT digest, unit, COUNT(*) AS copies,
		MIN(before) AS before_least, MAX(before) AS before_most, MIN(after) AS after_least, MAX(after) AS after_most
	FROM unit_cells
	GROUP BY digest, unit
), gathered AS (
	SELECT digest, COUNT(*) AS holders,
		MIN(before_least) <> MAX(before_most) OR MIN(after_least) <> MAX(after_most) AS forked
	FROM counted
	GROUP BY digest
)
SELECT c.digest, c.unit, c.copies, g.holders, g.forked
FROM counted c
JOIN gathered g ON g.digest = c.digest
