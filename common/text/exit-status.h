/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* The exit status of dedupd and dedupctl, as the manual pages document it. */
typedef enum {
	EXIT_STATUS_DONE = 0,
	EXIT_STATUS_FAILED = 1,
	EXIT_STATUS_USAGE = 2,
	EXIT_STATUS_NEEDS_DAEMON = 3,
	EXIT_STATUS_UNREADABLE = 4, /* done, but some files could not be read */
	EXIT_STATUS_IN_USE = 5,     /* another process works on the filesystem, or holds it */
	EXIT_STATUS_STOPPED = 6,    /* little space is left for metadata: the next pass continues */
	/* A disk fails, is missing or gone, or the filesystem became read-only. */
	EXIT_STATUS_DISK_FAILING = 7,
	/* Answers of dedupctl for scripts. */
	EXIT_STATUS_PARTLY = 10,
	EXIT_STATUS_NOT_AT_ALL = 11,
	EXIT_STATUS_WARNED = 12, /* a check found a problem */
	/* As with env(1) and timeout(1), for 'hold': all other codes are the command's. */
	EXIT_STATUS_NOT_HELD = 125,   /* the command was not started */
	EXIT_STATUS_CANNOT_RUN = 126, /* the command cannot be executed */
	EXIT_STATUS_NO_COMMAND = 127, /* no such command */
	EXIT_STATUS_SIGNAL = 128,     /* plus the number of the signal that ended it */
} ExitStatus;

/*
 * The worse of two, for a command that makes several passes: a failure before unreadable files.  Statuses that passes
 * do not have, such as that of a signal, are worse than all of theirs; the first of two stays.  Pure.  Thread: any.
 */
ExitStatus exit_status_worse(ExitStatus one, ExitStatus other);
