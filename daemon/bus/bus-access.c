/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-access.h"

#include <unistd.h>

/* AllowUserInteraction of CheckAuthorization. */
#define POLKIT_INTERACTIVE 1

struct BusAccess {
	void *data;
	GPtrArray *questions; /* Question */
	uid_t actor;          /* the user for whom an action is done */
};

/* A message that waits for an answer. */
typedef struct {
	BusAccess *access;
	sd_bus_message *message;
	AccessLevel level;
	BusAction action;
	sd_bus_slot *slot;
	bool is_for_polkit; /* which may take any time to answer */
	bool is_challenged; /* a password would allow it, but nobody can be asked for one */
	uint32_t uid;       /* as the bus says; (uid_t)-1: it has not yet */
} Question;

static void question_free(Question *question)
{
	sd_bus_slot_unref(question->slot);
	sd_bus_message_unref(question->message);
	g_free(question);
}

BusAccess *bus_access_new(void *data)
{
	BusAccess *access = g_new0(BusAccess, 1);

	access->data = data;
	access->questions = g_ptr_array_new_with_free_func((GDestroyNotify)question_free);
	return access;
}

void bus_access_free(BusAccess *access)
{
	if (!access)
		return;

	g_ptr_array_unref(access->questions);
	g_free(access);
}

void bus_access_forget(BusAccess *access, sd_bus *bus)
{
	for (size_t i = access->questions->len; i > 0; i--) {
		const Question *question = access->questions->pdata[i - 1];

		if (sd_bus_message_get_bus(question->message) == bus)
			g_ptr_array_remove_index_fast(access->questions, i - 1);
	}
}

bool bus_access_is_own(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

bool bus_access_is_trusted(const BusCaller *caller)
{
	return caller->is_private && bus_access_is_own(caller->uid);
}

static const char *action_of(AccessLevel level)
{
	return level == ACCESS_INSPECT ? "org.dedupd1.inspect" : "org.dedupd1.control";
}

static int refuse(sd_bus_error *error, const char *why, bool is_challenged)
{
	return sd_bus_error_set(error,
				is_challenged ? SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED
					      : SD_BUS_ERROR_ACCESS_DENIED,
				why);
}

/* Answer the question's message: do the action, or say why not. */
static void answer(Question *question, const char *refusal)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int failed;

	question->access->actor = question->uid;
	failed = refusal ? refuse(&error, refusal, question->is_challenged)
			 : question->action(question->message, question->access->data, &error);

	if (failed < 0)
		sd_bus_reply_method_errno(question->message, failed, &error);
	sd_bus_error_free(&error);
	g_ptr_array_remove_fast(question->access->questions, question);
}

static int on_polkit(sd_bus_message *reply, void *data, sd_bus_error *unused)
{
	Question *question = data;
	int is_authorized = 0, is_challenge = 0;

	if (sd_bus_message_is_method_error(reply, NULL)) {
		answer(question, "only root may do that, as polkit does not answer");
		return 0;
	}
	if (sd_bus_message_enter_container(reply, 'r', "bba{ss}") < 0 ||
	    sd_bus_message_read(reply, "bb", &is_authorized, &is_challenge) < 0)
		is_authorized = false;

	question->is_challenged = is_challenge;
	answer(question, is_authorized  ? NULL
			 : is_challenge ? "interactive authorization is required"
					: "polkit does not allow it");
	return 0;
}

static int ask_polkit(Question *question)
{
	sd_bus *bus = sd_bus_message_get_bus(question->message);
	bool is_interactive =
		sd_bus_message_get_allow_interactive_authorization(question->message) > 0;

	question->slot = sd_bus_slot_unref(question->slot);
	question->is_for_polkit = true;
	return sd_bus_call_method_async(
		bus, &question->slot, "org.freedesktop.PolicyKit1",
		"/org/freedesktop/PolicyKit1/Authority", "org.freedesktop.PolicyKit1.Authority",
		"CheckAuthorization", on_polkit, question, "(sa{sv})sa{ss}us", "system-bus-name", 1,
		"name", "s", sd_bus_message_get_sender(question->message),
		action_of(question->level), 0, is_interactive ? POLKIT_INTERACTIVE : 0, "");
}

/* Whether so many of the user's questions wait for polkit that others could not ask. */
static bool asks_too_much(const BusAccess *access, uint32_t uid)
{
	size_t n = 0;

	for (size_t i = 0; i < access->questions->len; i++) {
		const Question *question = access->questions->pdata[i];

		n += question->is_for_polkit && question->uid == uid;
	}

	return n >= BUS_QUESTIONS_OF_USER_MAX;
}

static int on_user(sd_bus_message *reply, void *data, sd_bus_error *unused)
{
	Question *question = data;

	if (sd_bus_message_is_method_error(reply, NULL) ||
	    sd_bus_message_read(reply, "u", &question->uid) < 0)
		answer(question, "the bus does not say who asks");
	else if (bus_access_is_own(question->uid))
		answer(question, NULL);
	else if (asks_too_much(question->access, question->uid))
		answer(question, "too many questions of this user wait for polkit");
	else if (ask_polkit(question) < 0)
		answer(question, "polkit cannot be asked");
	return 0;
}

/* Whether one connection has so many questions that others could not ask. */
static bool sends_too_much(const BusAccess *access, sd_bus_message *message)
{
	const char *sender = sd_bus_message_get_sender(message);
	size_t n = 0;

	for (size_t i = 0; i < access->questions->len; i++) {
		const Question *question = access->questions->pdata[i];

		n += g_strcmp0(sd_bus_message_get_sender(question->message), sender) == 0;
	}

	return n >= BUS_QUESTIONS_OF_USER_MAX;
}

/* Ask the bus for the caller's user, then polkit. */
static int ask(BusAccess *access, sd_bus_message *message, AccessLevel level, BusAction action,
	       sd_bus_error *error)
{
	Question *question;
	int failed;

	if (access->questions->len >= BUS_QUESTIONS_MAX || sends_too_much(access, message))
		return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					"too many questions wait for an answer");

	question = g_new0(Question, 1);
	*question = (Question){ .access = access,
				.message = sd_bus_message_ref(message),
				.level = level,
				.action = action,
				.uid = (uid_t)-1 };
	g_ptr_array_add(access->questions, question);
	failed = sd_bus_call_method_async(sd_bus_message_get_bus(message), &question->slot,
					  "org.freedesktop.DBus", "/org/freedesktop/DBus",
					  "org.freedesktop.DBus", "GetConnectionUnixUser", on_user,
					  question, "s", sd_bus_message_get_sender(message));
	if (failed < 0) {
		g_ptr_array_remove_fast(access->questions, question);
		return failed;
	}

	return 1;
}

int bus_access_run(BusAccess *access, const BusCaller *caller, sd_bus_message *message,
		   AccessLevel level, BusAction action, sd_bus_error *error)
{
	if (level == ACCESS_TOTALS)
		return action(message, access->data, error);
	if (!caller->is_private)
		return ask(access, message, level, action, error);
	if (!bus_access_is_trusted(caller))
		return refuse(error, "only root may do that here; on the system bus polkit decides",
			      false);

	access->actor = caller->uid;
	return action(message, access->data, error);
}

uid_t bus_access_actor(const BusAccess *access)
{
	return access->actor;
}
