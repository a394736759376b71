/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * AnchorPage - sorted anchors packed into what fits one row of one SQLite page.
 *
 * A checksum (XXH3, 4 bytes), the number of entries (2 bytes), then the entries: a byte with the
 * lengths of three numbers, and the numbers, low bytes first: the difference to the digest before,
 * the object, and the block plus one (so that ANCHOR_WHOLE_BLOCK is short).  Typical entries take
 * 10 bytes.
 *
 * Thread: any.
 */

/*
 * A leaf cell of a table holds 4061 bytes of record without overflow where pages are 4096
 * (https://sqlite.org/fileformat2.html, U - 35), and the record's header takes 4.
 */
#define ANCHOR_PAGE_BYTES 4057

/* Entries of a page at most, so that one unpacked has a bound. */
#define ANCHOR_PAGE_ENTRIES 1024

/* Bytes that may be read, or written, behind a page's end. */
#define ANCHOR_PAGE_SLACK 24

typedef struct {
	uint8_t bytes[ANCHOR_PAGE_BYTES + ANCHOR_PAGE_SLACK];
	size_t n_bytes;
	unsigned n_entries;
	uint64_t last_digest;
} AnchorPage;

void anchor_page_begin(AnchorPage *page);

/* False if @anchor, which is not less than the one before, does not fit. */
bool anchor_page_add(AnchorPage *page, const Anchor *anchor);

/* Make bytes and n_bytes what is to be stored. */
void anchor_page_seal(AnchorPage *page);

/*
 * Unpack into @ret, of ANCHOR_PAGE_ENTRIES; ANCHOR_PAGE_SLACK bytes behind @bytes can be read.
 * False if it is no valid page, or one without entries.
 */
bool anchor_page_read(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned *ret_n);
