-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- Compare hosts.
CREATE OR REPLACE TEMPORARY VIEW unit_cells AS
SELECT c.*, s.host AS unit
FROM cells c
JOIN stores s ON s.store = c.store
