/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

/*
 * BusAccess - what the sender of a message may do.
 *
 * Anyone may see totals.  On the private socket, root and the service's own user may do everything else, and nobody
 * else may.  On the system bus root may do everything, and polkit decides for others.  Polkit is asked without
 * blocking: the main loop goes on, and the action follows the answer.
 *
 * At most BUS_QUESTIONS_MAX messages wait for an answer, and BUS_QUESTIONS_OF_USER_MAX of one connection.  As many
 * of one user wait for polkit, which may ask somebody for a password.  Each message has at most
 * BUS_MESSAGE_BYTES_MAX bytes.
 *
 * Thread: main.
 */
typedef struct BusAccess BusAccess;

#define BUS_QUESTIONS_MAX         64
#define BUS_QUESTIONS_OF_USER_MAX 8

typedef enum {
	ACCESS_TOTALS,  /* without the names of files: anyone */
	ACCESS_INSPECT, /* the names of files: org.dedupd1.inspect */
	ACCESS_CONTROL, /* change something: org.dedupd1.control */
} AccessLevel;

/* Do what the message asks for, and reply to it.  Returns like a method handler of sd-bus. */
typedef int (*BusAction)(sd_bus_message *message, void *data, sd_bus_error *error);

/* The sender of a message. */
typedef struct {
	bool is_private; /* by the private socket */
	uid_t uid;       /* of the peer there */
	pid_t pid;       /* of the peer there; 0: not known */
} BusCaller;

/* Whether the user may do everything on the private socket. */
bool bus_access_is_own(uid_t uid);

/* Whether the caller may do everything, without asking polkit. */
bool bus_access_is_trusted(const BusCaller *caller);

/* @data is passed to all actions. */
BusAccess *bus_access_new(void *data);

/* Waiting questions are never answered. */
void bus_access_free(BusAccess *access);

/*
 * Do @action if the caller may, now or later; returns the result for a method handler.  The data that the action
 * needs later must be in the message.
 */
int bus_access_run(BusAccess *access, const BusCaller *caller, sd_bus_message *message,
		   AccessLevel level, BusAction action, sd_bus_error *error);

/* The user for whom the present action is done. */
uid_t bus_access_actor(const BusAccess *access);

/* Drop the questions of the connection, which is closed. */
void bus_access_forget(BusAccess *access, sd_bus *bus);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BusAccess, bus_access_free)
