/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Have everybody else come first: the calling thread gets what others leave of the disks (the I/O
 * class idle, which mq-deadline and bfq heed) and little of the processor (nice 19).
 *
 * For good, since it takes a privilege to go back.  Threads that it starts afterwards have the same.
 * Where a part is refused the rest is done: it is a courtesy, not a limit.
 *
 * Thread: any.
 */
void thread_priority_lower(void);
