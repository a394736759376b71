/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/anchor-shape.h"

/*
 * Files: each equal block is freed, so short runs count, too.  Measured against an ideal deduplicator, (4, 16)
 * freed 95.4 to 96.0 %, (2, 12) 96.6 to 97.1 % and (2, 8) 97.3 to 97.7 %.  The anchors took 320, 400 and 520
 * MB per TiB.
 *
 * Extents: an extent is freed as a whole or not at all, and runs are extended to their ends by
 * checksums.  Finer anchors freed no more (within 0.1 %), and many single sums of 32 bits are equal by chance.
 */
AnchorShape anchor_shape(bool by_checksums)
{
	return by_checksums ? (AnchorShape){ .blocks = 4, .window = 16 }
			    : (AnchorShape){ .blocks = 2, .window = 8 };
}
