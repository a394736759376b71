/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/anchors/anchor.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * AnchorPage - sorted anchors packed into one row, which fills one SQLite page.
 *
 * The format is a checksum (XXH3, 4 bytes), the number of entries (2 bytes), and the entries.  An entry is a
 * byte with the lengths of three numbers, and the numbers, low bytes first: the difference to the previous
 * digest, the object, and the block plus one (so that ANCHOR_WHOLE_BLOCK is short).  Typical entries take 10
 * bytes.
 *
 * Thread: any.
 */

/*
 * A leaf cell holds 4061 bytes of record without overflow in a page of 4096 bytes
 * (https://sqlite.org/fileformat2.html, U - 35).  The record's header takes 4.
 */
#define ANCHOR_PAGE_BYTES 4057

/* The limit of entries per page, which bounds the memory of an unpacked one. */
#define ANCHOR_PAGE_ENTRIES 1024

/* Bytes behind a page's end that may be read or written. */
#define ANCHOR_PAGE_SLACK 24

typedef struct {
	uint8_t bytes[ANCHOR_PAGE_BYTES + ANCHOR_PAGE_SLACK];
	size_t n_bytes;
	unsigned n_entries;
	uint64_t last_digest;
} AnchorPage;

void anchor_page_begin(AnchorPage *page);

/* False if @anchor does not fit.  It must not be less than the previous one. */
bool anchor_page_add(AnchorPage *page, const Anchor *anchor);

/* Complete the page: bytes and n_bytes are then ready to be stored. */
void anchor_page_seal(AnchorPage *page);

/*
 * Unpack into @ret, an array of ANCHOR_PAGE_ENTRIES.  ANCHOR_PAGE_SLACK bytes behind @bytes must be
 * readable.  False if the page is invalid or empty.
 */
bool anchor_page_read(const uint8_t *bytes, size_t n_bytes, Anchor *ret, unsigned *ret_n);
