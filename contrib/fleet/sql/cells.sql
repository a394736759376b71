-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- cells: the anchors, and the data ahead of and behind each of them.  All sizes are in bytes.
--
-- An anchor is the digest of anchor_blocks blocks (k).  Of window_anchors (w) positions in a row, at least one is an
-- anchor.  So two anchors at most w blocks apart are linked.  The data from one to the next is a piece, which is known by
-- both digests and its length: before and after have the digest of the other anchor, with the length in the low 6 bits.
-- The first and the last data of an object have one anchor only, and are known by the digest of the object.  An object
-- too small for anchors is one cell.
--
-- ahead, behind              bytes of the piece if both of its anchors are equal; a linked piece counts at its first one
-- ahead_end, behind_end      bytes of it that are equal on average if only this anchor is equal
-- ahead_least, behind_least  bytes of it that are data for certain: none where zeros, a hole or shared blocks may follow
-- ahead_most, behind_most    bytes that can be equal if equal data ends here, in this piece or in others
--
-- Equality of an anchor at block b shows k equal blocks.  Equal data ends before b + k + w, or it had another equal
-- anchor; it begins behind b - w.  On average it ends half the piece and k - 1/2 blocks behind b, and begins half the
-- piece less 1/2 block ahead of b.  Near an end, different neighbours may lead to different anchors in equal data, which
-- hides a tenth of a window on average.
CREATE TABLE cells AS
WITH placed AS (
	SELECT a.store, a.object, a.block, a.digest, o.blocks, o.digest AS object_digest,
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
	SELECT *,
		COALESCE(before_digest <> 0 AND block - before_block <= w, FALSE) AS follows,
		COALESCE(after_digest <> 0 AND after_block - block <= w, FALSE) AS leads,
		block - COALESCE(before_block, 0) AS room_ahead,
		COALESCE(after_block, blocks) - block AS room_behind,
		before_block IS NULL AND block < w AS begins_exactly,
		COALESCE(after_digest, 0) = 0 AND COALESCE(after_block, blocks) - block < k + w AS ends_exactly
	FROM placed
	WHERE digest <> 0
)
SELECT store, object, place, digest,
	CASE WHEN follows THEN before_digest - before_digest % 64 + room_ahead - 1 ELSE object_digest END AS before,
	CASE WHEN leads THEN after_digest - after_digest % 64 + room_behind - 1 ELSE object_digest END AS after,
	unit * CASE WHEN leads OR ends_exactly THEN room_behind
		ELSE LEAST(room_behind, k + (w - 1) / 2e0) END AS behind,
	unit * CASE WHEN leads THEN room_behind / 2e0 + w / 10e0 + k - 0.5e0
		WHEN ends_exactly THEN room_behind
		ELSE LEAST(room_behind, k + (w - 1) / 2e0) END AS behind_end,
	unit * CASE WHEN leads OR ends_exactly THEN room_behind ELSE 0 END AS behind_least,
	unit * CASE WHEN leads THEN k + w - 1 ELSE LEAST(room_behind, k + w - 1) END AS behind_most,
	unit * CASE WHEN follows THEN 0e0
		WHEN begins_exactly THEN room_ahead
		ELSE LEAST(room_ahead, (w - 1) / 2e0) END AS ahead,
	unit * CASE WHEN follows THEN room_ahead / 2e0 + w / 10e0 - 0.5e0
		WHEN begins_exactly THEN room_ahead
		ELSE LEAST(room_ahead, (w - 1) / 2e0) END AS ahead_end,
	unit * CASE WHEN begins_exactly AND NOT follows THEN room_ahead ELSE 0 END AS ahead_least,
	unit * CASE WHEN follows THEN w - 1 ELSE LEAST(room_ahead, w - 1) END AS ahead_most,
	follows, leads
FROM measured
UNION ALL
SELECT o.store, o.object, 1 AS place, o.digest, o.digest AS before, o.digest AS after,
	s.block_bytes * CAST(o.whole_blocks AS DOUBLE) AS behind,
	s.block_bytes * CAST(o.whole_blocks AS DOUBLE) AS behind_end,
	s.block_bytes * o.whole_blocks AS behind_least, s.block_bytes * o.whole_blocks AS behind_most,
	0e0 AS ahead, 0e0 AS ahead_end, 0 AS ahead_least, 0 AS ahead_most, FALSE AS follows, FALSE AS leads
FROM objects o
JOIN stores s ON s.store = o.store
WHERE o.whole_blocks > 0
