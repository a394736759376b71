/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Try whether a filesystem shares equal data, on two unnamed files (O_TMPFILE) of 64 KiB.  Both files are gone
 * when this returns.
 *
 * Sharing is checked by physical address.  On btrfs the caller holds the lock that deduplication holds: see
 * dedupe-range.h.
 *
 * Thread: any.
 */
typedef enum {
	DEDUPE_PROBE_SHARED,
	DEDUPE_PROBE_NOT_SHARED, /* the kernel reported success, but the addresses differ */
	DEDUPE_PROBE_REFUSED,    /* FIDEDUPERANGE failed with *ret_errno */
	DEDUPE_PROBE_NOT_TRIED,  /* the files could not be made: *ret_errno */
} DedupeProbe;

/* The files are made in the directory @directory_fd. */
DedupeProbe dedupe_probe(int directory_fd, int *ret_errno);
