-- SPDX-License-Identifier: GPL-2.0-or-later
--
-- held: which unit has each digest, how often, and how many units have it.
CREATE TABLE held AS
SELECT digest, unit, copies, COUNT(*) OVER (PARTITION BY digest) AS holders
FROM (SELECT digest, unit, COUNT(*) AS copies FROM unit_cells GROUP BY digest, unit) counted
