-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- forks: the neighbours of forked digests: which unit has each of them, how often, how many units have it, and how many
-- other neighbours the digest has in the same unit.
CREATE TABLE forks AS
WITH forked AS (
	SELECT c.digest, c.unit, c.before, c.after
	FROM unit_cells c
	JOIN held h ON h.digest = c.digest AND h.unit = c.unit
	WHERE h.forked
), counted AS (
	SELECT digest, unit, 'before' AS side, before AS neighbour, COUNT(*) AS copies
	FROM forked GROUP BY digest, unit, before
	UNION ALL
	SELECT digest, unit, 'after' AS side, after AS neighbour, COUNT(*) AS copies
	FROM forked GROUP BY digest, unit, after
)
SELECT digest, unit, side, neighbour, copies,
	COUNT(*) OVER (PARTITION BY digest, side, neighbour) AS holders,
	COUNT(*) OVER (PARTITION BY digest, unit, side) - 1 AS others
FROM counted
