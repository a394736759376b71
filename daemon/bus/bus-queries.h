/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "common/threads/message-queue.h"
#include "daemon/bus/store-query.h"

#include <stdbool.h>
#include <systemd/sd-bus.h>

/*
 * BusQueries - answers that have to be read from stores, given as descriptors.
 *
 * A thread reads, so that only the caller waits for a disk.  Queries of one kind and filesystem run one at a time.
 * The answer goes to all who asked meanwhile, and to callers within ANSWER_FRESH_USEC after it.
 *
 * An unchanged answer is the same file in memory, however many hold it.  Otherwise a caller who asked often and
 * kept all answers would use up the service's memory.  At most BUS_QUERIES_MAX threads read at a time, and
 * BUS_WAITING_MAX messages wait for one.  Trusted callers have twice as many, so that others cannot keep them from
 * an answer.
 *
 * Thread: main.
 */
typedef struct BusQueries BusQueries;

#define BUS_QUERIES_MAX   4
#define BUS_WAITING_MAX   64
#define ANSWER_FRESH_USEC (2 * G_USEC_PER_SEC)

/* @messages, main's, is borrowed. */
BusQueries *bus_queries_new(MessageQueue *messages);

/* Waits for readers, which end soon.  Waiting messages are never answered. */
void bus_queries_free(BusQueries *queries);

/* The query of a message. */
typedef struct {
	const char *directory; /* of the stores */
	const char *uuid;
	StoreQueryKind kind;
	bool is_trusted; /* the caller may do all */
} BusQuery;

/* Reply to @message, now or later.  Returns like a method handler of sd-bus. */
int bus_queries_ask(BusQueries *queries, sd_bus_message *message, const BusQuery *query,
		    sd_bus_error *error);

/* The answers from the filesystem's store may have changed. */
void bus_queries_changed(BusQueries *queries, const char *uuid);

/* Drop the messages of the connection, which is closed. */
void bus_queries_forget(BusQueries *queries, sd_bus *bus);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(BusQueries, bus_queries_free)
