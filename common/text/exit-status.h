/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * What dedupd and dedupctl exit with; the manual pages promise it.
 */
typedef enum {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_FAILED = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NEEDS_DAEMON = 3,
	EXIT_STATUS_UNREADABLE = 4,   /* done, but some files could not be read */
	EXIT_STATUS_IN_USE = 5,       /* another process works on the filesystem, or holds it */
	EXIT_STATUS_STOPPED = 6,      /* little room was left for metadata: the next pass goes on */
	EXIT_STATUS_DISK_FAILING = 7, /* a disk is failing, missing or gone: the pass was ended */
	/* Answers of dedupctl that a script asks for. */
	EXIT_STATUS_PARTLY = 10,
	EXIT_STATUS_NOT_AT_ALL = 11,
	EXIT_STATUS_WARNED = 12, /* something was found that is not as it should be */
	/* Of 'hold', as of env(1) and timeout(1): all others are the command's. */
	EXIT_STATUS_NOT_HELD = 125,   /* so the command was not begun */
	EXIT_STATUS_CANNOT_RUN = 126, /* the command is no program */
	EXIT_STATUS_NO_COMMAND = 127, /* there is no such command */
	EXIT_STATUS_SIGNAL = 128,     /* plus the number of the signal that ended it */
} ExitStatus;
