/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/content/anchor-shape.h"

/*
 * Files: every block that is found is freed by itself, so that short stretches count, too.  Of what an
 * ideal deduplicator could free (4, 16) freed 95.4 to 96.0 %, (2, 12) 96.6 to 97.1 % and (2, 8) 97.3 to
 * 97.7 %, with anchors of 320, 400 and 520 MB per TiB.
 * Extents: one is given back as a whole or not at all, and stretches are followed to their ends over the
 * checksums.  Finer anchors freed no more (within 0.1 %); and of single sums of 32 bits many are equal
 * by chance.
 */
AnchorShape anchor_shape(bool by_checksums)
{
	return by_checksums ? (AnchorShape){ .blocks = 4, .window = 16 }
			    : (AnchorShape){ .blocks = 2, .window = 8 };
}
