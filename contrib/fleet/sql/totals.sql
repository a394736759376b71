-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- For each unit (a host or a dataset): its data, each piece counted once; how much of it others hold; and its part of
-- what one filer for all would save, where one copy stays.  Of data that h units hold, each of them saves 1 - 1/h.
WITH whole AS (
	SELECT unit, SUM(stored) AS stored, SUM(ahead - ahead_again + behind - behind_again) AS bytes,
		SUM(ahead_whole + behind_whole) AS most
	FROM pieces
	GROUP BY unit
), common AS (
	SELECT *,
		CASE WHEN LAG(place) OVER p = place - 1 THEN LAG(holders) OVER p ELSE 1 END AS before_common,
		CASE WHEN LEAD(place) OVER p = place + 1 THEN LEAD(holders) OVER p ELSE 1 END AS after_common
	FROM pieces
	WHERE holders > 1
	WINDOW p AS (PARTITION BY store, object ORDER BY place)
), shared AS (
	SELECT unit,
		SUM(CASE WHEN before_common > 1 THEN ahead ELSE ahead_end END - ahead_again
			+ CASE WHEN after_common > 1 THEN behind ELSE behind_end END - behind_again) AS bytes,
		SUM(CASE WHEN before_holders > 1 THEN ahead_least ELSE 0 END
			+ CASE WHEN after_holders > 1 THEN behind_least ELSE 0 END) AS least,
		SUM(CASE WHEN before_common > 1 THEN ahead_whole ELSE ahead_most END
			+ CASE WHEN after_common > 1 THEN behind_whole ELSE behind_most END) AS most,
		SUM(ahead * (1 - 1e0 / LEAST(holders, before_common))
			+ ahead_end * (1e0 / LEAST(holders, before_common) - 1e0 / holders)
			+ behind * (1 - 1e0 / LEAST(holders, after_common))
			+ behind_end * (1e0 / LEAST(holders, after_common) - 1e0 / holders)
			- (ahead_again + behind_again) * (1 - 1e0 / holders)) AS saved,
		SUM(ahead_least * (1 - 1e0 / before_holders)
			+ behind_least * (1 - 1e0 / after_holders)) AS saved_least,
		SUM(ahead_whole * (1 - 1e0 / before_holders)
			+ ahead_most * (1 - 1e0 / (1 + holders - before_holders))
			+ behind_whole * (1 - 1e0 / after_holders)
			+ behind_most * (1 - 1e0 / (1 + holders - after_holders))) AS saved_most
	FROM common
	GROUP BY unit
)
SELECT w.unit, w.stored, w.bytes, w.most, COALESCE(s.bytes, 0), COALESCE(s.least, 0), COALESCE(s.most, 0),
	COALESCE(s.saved, 0), COALESCE(s.saved_least, 0), COALESCE(s.saved_most, 0)
FROM whole w
LEFT JOIN shared s ON s.unit = w.unit
ORDER BY w.unit
