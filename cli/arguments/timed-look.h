/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * TimedLook - a process that looks at a disk which may hang.  It is left behind if it hangs, and ends when the kernel
 * lets it: a process cannot end before all of its threads do.
 *
 * Thread: main, of a process that has no other.
 */
#define TIMED_LOOK_MSEC 2000

/*
 * Fork.  Returns 0 in the new process, which has no standard input and output; *@ret_fd is where it may write.  In the
 * old one *@ret_fd reads that, up to the end of the process.  Returns -1 if it cannot be started.
 */
pid_t timed_look_start(int *ret_fd);

/* Wait for something to read, or for the end.  Returns false if neither comes in time. */
bool timed_look_wait(int fd);

/* Reap the process, which @hangs or has ended.  Returns whether it ended well. */
bool timed_look_end(pid_t child, bool hangs);
