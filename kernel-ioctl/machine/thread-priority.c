/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel-ioctl/machine/thread-priority.h"

#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE_MAX 19

/* Both calls take 0 for the calling thread, although one says process. */
#define THIS_THREAD 0

void thread_priority_lower(void)
{
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, THIS_THREAD,
		IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
	setpriority(PRIO_PROCESS, THIS_THREAD, NICE_MAX);
}
