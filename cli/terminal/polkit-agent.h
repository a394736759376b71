/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * PolkitAgent - pkttyagent(1), which asks the user for a password on the terminal on behalf of polkit.
 *
 * Thread: main.
 */
typedef struct {
	pid_t process; /* 0: none */
} PolkitAgent;

/*
 * Start an agent for this process, and wait until polkit knows it.  Returns false if there is no terminal, or
 * no pkttyagent.
 */
bool polkit_agent_start(PolkitAgent *agent);

/* End the agent if it was started, and restore the terminal. */
void polkit_agent_stop(PolkitAgent *agent);
