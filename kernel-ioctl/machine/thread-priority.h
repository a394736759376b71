/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/*
 * Lower the priority of the calling thread: the I/O class idle, which mq-deadline and bfq respect, and nice 19.
 *
 * This is permanent, since raising the priority needs a privilege.  Threads started afterwards inherit it.
 * If the kernel refuses one part, the other is still done: it is a courtesy, not a limit.
 *
 * Thread: any.
 */
void thread_priority_lower(void);
