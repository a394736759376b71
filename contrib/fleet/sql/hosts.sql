-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Compare hosts.
CREATE OR REPLACE TEMPORARY VIEW unit_cells AS
SELECT c.*, s.host AS unit, s.block_bytes * (s.window_anchors - 1) AS rise_most,
	s.block_bytes * (s.anchor_blocks + s.window_anchors - 1) AS fall_most
FROM cells c
JOIN stores s ON s.store = c.store
