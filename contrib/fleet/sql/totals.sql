-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- For each unit (a host or a dataset): its data, each piece counted once; how much of it others hold; and its part of
-- what one filer for all would save, where one copy stays.
WITH whole AS (
	SELECT c.unit, SUM(c.bytes) AS stored_bytes, SUM(c.bytes / h.copies) AS data_bytes
	FROM unit_cells c
	JOIN held h ON h.digest = c.digest AND h.unit = c.unit
	GROUP BY c.unit
), common AS (
	SELECT c.*, h.copies, h.holders,
		LAG(c.place) OVER p AS before_place, LEAD(c.place) OVER p AS after_place
	FROM unit_cells c
	JOIN held h ON h.digest = c.digest AND h.unit = c.unit
	WHERE h.holders > 1
	WINDOW p AS (PARTITION BY c.store, c.object ORDER BY c.place)
), edged AS (
	SELECT unit, copies, holders,
		bytes + CASE WHEN before_place = place - 1 THEN 0 ELSE rise END
			+ CASE WHEN after_place = place + 1 THEN 0 ELSE fall END AS bytes,
		doubt + CASE WHEN before_place = place - 1 THEN 0 ELSE rise_doubt END
			+ CASE WHEN after_place = place + 1 THEN 0 ELSE fall_doubt END AS doubt
	FROM common
), shared AS (
	SELECT unit, SUM(bytes / copies) AS bytes, SUM(doubt / copies) AS doubt,
		SUM(bytes / copies * (holders - 1) / holders) AS saved_bytes,
		SUM(doubt / copies * (holders - 1) / holders) AS saved_doubt
	FROM edged
	GROUP BY unit
)
SELECT w.unit, w.stored_bytes, w.data_bytes,
	COALESCE(s.bytes, 0) AS elsewhere_bytes, COALESCE(s.doubt, 0) AS elsewhere_doubt,
	COALESCE(s.saved_bytes, 0) AS saved_bytes, COALESCE(s.saved_doubt, 0) AS saved_doubt
FROM whole w
LEFT JOIN shared s ON s.unit = w.unit
ORDER BY w.unit
