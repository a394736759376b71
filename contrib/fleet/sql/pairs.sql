-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- For each two units (hosts or datasets): the data of the first that the other one holds, too, each piece counted once.
WITH common AS (
	SELECT p.*, o.unit AS other,
		NOT p.forked OR b.unit IS NOT NULL AS holds_before,
		NOT p.forked OR a.unit IS NOT NULL AS holds_after,
		COALESCE(LAG(p.place) OVER q = p.place - 1, FALSE) AS before_common,
		COALESCE(LEAD(p.place) OVER q = p.place + 1, FALSE) AS after_common
	FROM pieces p
	JOIN held o ON o.digest = p.digest AND o.unit <> p.unit
	LEFT JOIN forks b ON b.digest = p.digest AND b.unit = o.unit AND b.side = 'before' AND b.neighbour = p.before
	LEFT JOIN forks a ON a.digest = p.digest AND a.unit = o.unit AND a.side = 'after' AND a.neighbour = p.after
	WHERE p.holders > 1 AND o.holders > 1
	WINDOW q AS (PARTITION BY p.store, p.object, o.unit ORDER BY p.place)
)
SELECT unit, other,
	SUM(CASE WHEN before_common THEN ahead ELSE ahead_end END - ahead_again
		+ CASE WHEN after_common THEN behind ELSE behind_end END - behind_again) AS bytes,
	SUM(CASE WHEN holds_before THEN ahead_least ELSE 0 END
		+ CASE WHEN holds_after THEN behind_least ELSE 0 END) AS least,
	SUM(CASE WHEN before_common THEN ahead_whole ELSE ahead_most END
		+ CASE WHEN after_common THEN behind_whole ELSE behind_most END) AS most
FROM common
GROUP BY unit, other
ORDER BY bytes DESC
