/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-queries.h"

#include "common/system/memfd.h"
#include "common/text/bus-names.h"
#include "common/threads/thread.h"
#include "kernel-ioctl/call/fd.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct BusQueries {
	MessageQueue *messages; /* to main */
	GPtrArray *answers;     /* Answer */
};

/* The result of a thread. */
typedef struct {
	char *text; /* NULL: there is an error */
	GError *error;
} Reading;

/* The answer to one query, and the messages that wait for it. */
typedef struct {
	/* Set at creation, never changed. */
	BusQueries *queries;
	char *directory;
	char *uuid;
	StoreQueryKind kind;

	/* Thread: main. */
	GPtrArray *waiting; /* sd_bus_message */
	int fd;             /* of the answer; -1: none yet */
	char *digest;       /* of its text */
	int64_t read_usec;  /* when that began */
	int64_t stale_usec; /* when the store was changed last, as far as is known */

	/* While a thread reads. */
	GThread *thread;
	Receiver *finished; /* of the Reading */
	atomic_bool stop;
} Answer;

static void reading_free(void *data)
{
	Reading *reading = data;

	g_free(reading->text);
	g_clear_error(&reading->error);
	g_free(reading);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Reading, reading_free)

static void end_thread(Answer *answer)
{
	g_thread_join(g_steal_pointer(&answer->thread));
	g_clear_pointer(&answer->finished, receiver_close);
}

static void answer_free(Answer *answer)
{
	atomic_store(&answer->stop, true);
	if (answer->thread)
		end_thread(answer);
	g_ptr_array_unref(answer->waiting);
	fd_close(&answer->fd);
	g_free(answer->directory);
	g_free(answer->uuid);
	g_free(answer->digest);
	g_free(answer);
}

BusQueries *bus_queries_new(MessageQueue *messages)
{
	BusQueries *queries = g_new0(BusQueries, 1);

	queries->messages = messages;
	queries->answers = g_ptr_array_new_with_free_func((GDestroyNotify)answer_free);
	return queries;
}

void bus_queries_free(BusQueries *queries)
{
	if (!queries)
		return;

	g_ptr_array_unref(queries->answers);
	g_free(queries);
}

void bus_queries_forget(BusQueries *queries, sd_bus *bus)
{
	for (size_t i = 0; i < queries->answers->len; i++) {
		GPtrArray *waiting = ((Answer *)queries->answers->pdata[i])->waiting;

		for (size_t j = waiting->len; j > 0; j--)
			if (sd_bus_message_get_bus(waiting->pdata[j - 1]) == bus)
				g_ptr_array_remove_index_fast(waiting, j - 1);
	}
}

void bus_queries_changed(BusQueries *queries, const char *uuid)
{
	for (size_t i = 0; i < queries->answers->len; i++) {
		Answer *answer = queries->answers->pdata[i];

		if (strcmp(answer->uuid, uuid) == 0)
			answer->stale_usec = g_get_monotonic_time();
	}
}

static void message_unref(void *message)
{
	sd_bus_message_unref(message);
}

static Answer *find(BusQueries *queries, const BusQuery *query)
{
	Answer *answer;

	for (size_t i = 0; i < queries->answers->len; i++) {
		answer = queries->answers->pdata[i];
		if (answer->kind == query->kind && strcmp(answer->uuid, query->uuid) == 0 &&
		    strcmp(answer->directory, query->directory) == 0)
			return answer;
	}

	answer = g_new0(Answer, 1);
	answer->queries = queries;
	answer->directory = g_strdup(query->directory);
	answer->uuid = g_strdup(query->uuid);
	answer->kind = query->kind;
	answer->waiting = g_ptr_array_new_with_free_func(message_unref);
	answer->fd = -1;
	g_ptr_array_add(queries->answers, answer);
	return answer;
}

static int reply(const Answer *answer, sd_bus_message *message)
{
	g_auto(Fd) fd = memfd_reopen(answer->fd);

	return fd < 0 ? fd : sd_bus_reply_method_return(message, "h", fd);
}

/* Keep @text.  An unchanged one stays in its file. */
static int keep_text(Answer *answer, const char *text)
{
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);

	if (g_strcmp0(digest, answer->digest) == 0)
		return 0;

	fd_close(&answer->fd);
	g_clear_pointer(&answer->digest, g_free);
	answer->fd = memfd_new(text);
	if (answer->fd < 0)
		return answer->fd;
	answer->digest = g_steal_pointer(&digest);
	return 0;
}

static void reply_to_all(Answer *answer, const GError *unread, int failed)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;

	if (unread)
		sd_bus_error_set(&error, BUS_ERROR_UNSUITABLE, unread->message);
	for (size_t i = 0; i < answer->waiting->len; i++) {
		sd_bus_message *message = answer->waiting->pdata[i];

		if (failed >= 0 && !unread && reply(answer, message) >= 0)
			continue;
		sd_bus_reply_method_errno(message, failed < 0 ? failed : -EIO, &error);
	}
	g_ptr_array_set_size(answer->waiting, 0);
	sd_bus_error_free(&error);
}

static void on_finished(void *content, void *data)
{
	Answer *answer = data;
	g_autoptr(Reading) reading = content;

	end_thread(answer);
	reply_to_all(answer, reading->error, reading->text ? keep_text(answer, reading->text) : 0);
}

static void *read_answer(void *data)
{
	const Answer *answer = data;
	Reading *reading = g_new0(Reading, 1);

	reading->text = store_query_run(answer->directory, answer->uuid, answer->kind,
					&answer->stop, &reading->error);
	receiver_send(answer->finished, reading);
	return NULL;
}

static int start_thread(Answer *answer, size_t n_threads_max, sd_bus_error *error)
{
	g_autoptr(GError) failure = NULL;
	size_t n_threads = 0;

	for (size_t i = 0; i < answer->queries->answers->len; i++)
		n_threads += ((Answer *)answer->queries->answers->pdata[i])->thread != NULL;
	if (n_threads >= n_threads_max)
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many stores are read: ask again");

	answer->read_usec = g_get_monotonic_time();
	answer->finished =
		receiver_new(answer->queries->messages, on_finished, reading_free, answer);
	answer->thread = thread_new("query", read_answer, answer, &failure);
	if (answer->thread)
		return 0;

	g_clear_pointer(&answer->finished, receiver_close);
	return -EAGAIN;
}

int bus_queries_ask(BusQueries *queries, sd_bus_message *message, const BusQuery *query,
		    sd_bus_error *error)
{
	Answer *answer = find(queries, query);
	size_t share = query->is_trusted ? 2 : 1;

	if (answer->fd >= 0 && !answer->thread && answer->read_usec > answer->stale_usec &&
	    g_get_monotonic_time() - answer->read_usec < ANSWER_FRESH_USEC)
		return reply(answer, message);
	if (answer->waiting->len >= BUS_WAITING_MAX * share)
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many wait for the same answer");

	if (!answer->thread) {
		int failed = start_thread(answer, BUS_QUERIES_MAX * share, error);

		if (failed < 0)
			return failed;
	}
	g_ptr_array_add(answer->waiting, sd_bus_message_ref(message));
	return 1;
}
