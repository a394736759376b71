-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- cells: the piece of data for which each anchor stands.  All sizes are in bytes.
--
-- An anchor is the digest of anchor_blocks blocks (k).  Of window_anchors (w) positions in a row, at least one is an
-- anchor.  The space between two anchors belongs half to each.  An object too small for anchors is one cell.
--
-- A run of equal data ends between an anchor that is equal and one that is not.  Equality of an anchor shows k equal
-- blocks from its position on.  So on average the end lies half the gap and k - 1/2 blocks behind the equal anchor
-- (fall), and the begin half the gap less 1/2 block before it (rise).  Near an end, different neighbours may lead to
-- different anchors in equal data, which hides a tenth of a window on average.  rise_doubt and fall_doubt tell how
-- far the end may lie from there, and doubt the same where data ends at zeros or holes.
CREATE TABLE cells AS
WITH placed AS (
	SELECT a.store, a.object, a.block, a.digest, o.blocks,
		s.anchor_blocks AS k, s.window_anchors AS w, s.block_bytes AS unit,
		LAG(a.block) OVER p AS before_block, LAG(a.digest) OVER p AS before_digest,
		LEAD(a.block) OVER p AS after_block, LEAD(a.digest) OVER p AS after_digest,
		ROW_NUMBER() OVER p AS place
	FROM anchors a
	JOIN objects o ON o.store = a.store AND o.object = a.object
	JOIN stores s ON s.store = a.store
	WINDOW p AS (PARTITION BY a.store, a.object ORDER BY a.block)
), measured AS (
	-- The digest 0 marks the start of zeros.
	SELECT store, object, place, digest, block, k, w, unit,
		before_block IS NULL AS is_first,
		COALESCE(before_digest <> 0 AND block - before_block <= w, FALSE) AS follows,
		COALESCE(after_digest <> 0 AND after_block - block <= w, FALSE) AS leads,
		block - COALESCE(before_block, 0) AS room_before,
		COALESCE(after_block, blocks) - block AS room_after,
		COALESCE(after_digest, 0) = 0 AS ends_there,
		(w - 1) / 2e0 AS half_window
	FROM placed
	WHERE digest <> 0
), reached AS (
	SELECT *,
		is_first AND block < w AS begins_exactly,
		ends_there AND room_after < k + w AS ends_exactly
	FROM measured
)
SELECT store, object, place, digest,
	unit * (CASE WHEN follows THEN room_before / 2e0
			WHEN begins_exactly THEN room_before
			ELSE LEAST(room_before, half_window) END
		+ CASE WHEN leads THEN room_after / 2e0
			WHEN ends_exactly THEN room_after
			ELSE LEAST(room_after, k + half_window) END) AS bytes,
	unit * (CASE WHEN follows OR begins_exactly THEN 0 ELSE LEAST(room_before, half_window) END
		+ CASE WHEN leads OR ends_exactly THEN 0 ELSE half_window END) AS doubt,
	unit * CASE WHEN follows THEN w / 10e0 - 0.5e0 ELSE 0 END AS rise,
	unit * CASE WHEN leads THEN w / 10e0 + k - 0.5e0 ELSE 0 END AS fall,
	unit * CASE WHEN follows THEN room_before / 2e0 ELSE 0 END AS rise_doubt,
	unit * CASE WHEN leads THEN room_after / 2e0 ELSE 0 END AS fall_doubt
FROM reached
UNION ALL
SELECT o.store, o.object, 1 AS place, o.digest,
	s.block_bytes * CAST(o.whole_blocks AS DOUBLE) AS bytes,
	0 AS doubt, 0 AS rise, 0 AS fall, 0 AS rise_doubt, 0 AS fall_doubt
FROM objects o
JOIN stores s ON s.store = o.store
WHERE o.whole_blocks > 0
