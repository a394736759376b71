-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Compare datasets: the directories at one depth, on each host.
CREATE OR REPLACE TEMPORARY VIEW unit_cells AS
SELECT c.*, d.dataset AS unit, s.block_bytes * (s.window_anchors - 1) AS rise_most,
	s.block_bytes * (s.anchor_blocks + s.window_anchors - 1) AS fall_most
FROM cells c
JOIN datasets d ON d.store = c.store AND d.object = c.object
JOIN stores s ON s.store = c.store
