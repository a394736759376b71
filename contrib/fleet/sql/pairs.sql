-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- For each two units (hosts or datasets): the data of the first that the other one holds, too, each piece counted once.
WITH common AS (
	SELECT c.*, one.copies, other.unit AS other,
		LAG(c.place) OVER p AS before_place, LEAD(c.place) OVER p AS after_place
	FROM held one
	JOIN held other ON other.digest = one.digest AND other.unit <> one.unit
	JOIN unit_cells c ON c.digest = one.digest AND c.unit = one.unit
	WHERE one.holders > 1 AND other.holders > 1
	WINDOW p AS (PARTITION BY c.store, c.object, other.unit ORDER BY c.place)
)
SELECT unit, other,
	SUM((bytes + CASE WHEN before_place = place - 1 THEN 0 ELSE rise END
		+ CASE WHEN after_place = place + 1 THEN 0 ELSE fall END) / copies) AS bytes,
	SUM((doubt + CASE WHEN before_place = place - 1 THEN 0 ELSE rise_doubt END
		+ CASE WHEN after_place = place + 1 THEN 0 ELSE fall_doubt END) / copies) AS doubt
FROM common
GROUP BY unit, other
ORDER BY bytes DESC
