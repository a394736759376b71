/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Try whether a filesystem shares equal data: on two unnamed files (O_TMPFILE) of 64 KiB, which are
 * gone when this returns.
 *
 * What the kernel says is checked by physical address.  On a btrfs the caller holds the lock that
 * sharing holds: see dedupe-range.h.
 *
 * Thread: any.
 */
typedef enum {
	DEDUPE_PROBE_SHARED,
	DEDUPE_PROBE_NOT_SHARED, /* the kernel said that it would, and did not */
	DEDUPE_PROBE_REFUSED,    /* by FIDEDUPERANGE, with *ret_errno */
	DEDUPE_PROBE_NOT_TRIED,  /* no files could be made, *ret_errno says why */
} DedupeProbe;

/* @directory_fd is a directory that the files are made in. */
DedupeProbe dedupe_probe(int directory_fd, int *ret_errno);
