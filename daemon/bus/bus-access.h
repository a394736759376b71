/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

/*
 * BusAccess - who may have what done by a message.
 *
 * Totals are for anyone.  Beyond that, on the private socket root and the service's own user may
 * do all, and nobody else anything.  On the system bus root may, and others if polkit says so,
 * which is asked without waiting: the main loop goes on, and the action follows when the answer
 * has come.  At most BUS_QUESTIONS_MAX messages wait for an answer, BUS_QUESTIONS_OF_USER_MAX of one connection, and
 * as many of one user wait for polkit, which may ask somebody for a password.  Each is BUS_MESSAGE_BYTES_MAX long
 * at most.
 *
 * Thread: main.
 */
typedef struct BusAccess BusAccess;

#define BUS_QUESTIONS_MAX         64
#define BUS_QUESTIONS_OF_USER_MAX 8

typedef enum {
	ACCESS_INSPECT, /* the names of files: org.dedupd1.inspect */
	ACCESS_CONTROL, /* have something done: org.dedupd1.control */
} AccessLevel;

/* Does what the message asks for, and replies to it; as a method handler of sd-bus returns. */
typedef int (*BusAction)(sd_bus_message *message, void *data, sd_bus_error *error);

/* How a message came. */
typedef struct {
	bool is_private; /* by the private socket */
	uid_t uid;       /* of the peer there */
	pid_t pid;       /* of the peer there; 0: not known */
} BusCaller;

/* Whether the user may do all on the private socket. */
bool bus_access_is_own(uid_t uid);

/* Whether the caller may do all, which nobody has to be asked. */
bool bus_access_is_trusted(const BusCaller *caller);

/* @data is passed to all actions. */
BusAccess *bus_access_new(void *data);

/* Questions that wait are never answered. */
void bus_access_free(BusAccess *access);

/*
 * Do @action if the caller may, now or later; returns the result for a method handler.  The data that the action
 * needs later must be in the message.
 */
int bus_access_run(BusAccess *access, const BusCaller *caller, sd_bus_message *message,
		   AccessLevel level, BusAction action, sd_bus_error *error);

/* The user who has the action done that is being done. */
uid_t bus_access_actor(const BusAccess *access);

/* Forget what the connection waits for, since it is closed. */
void bus_access_forget(BusAccess *access, sd_bus *bus);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BusAccess, bus_access_free)
