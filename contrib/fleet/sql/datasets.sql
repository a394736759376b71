-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Compare datasets: the directories at one depth, on each host.
CREATE OR REPLACE TEMPORARY VIEW unit_cells AS
SELECT c.*, d.dataset AS unit
FROM cells c
JOIN datasets d ON d.store = c.store AND d.object = c.object
