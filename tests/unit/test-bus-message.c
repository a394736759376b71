/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-message.h"

#include <glib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What each value counts at least. */
#define VALUE_BYTES 4

/* A bus that nobody answers on, to make messages. */
typedef struct {
	sd_bus *bus;
	int other_fd;
} Fixture;

static void set_up(Fixture *fixture, gconstpointer data)
{
	int fds[2];

	g_assert_cmpint(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), ==,
			0);
	fixture->other_fd = fds[1];
	g_assert_cmpint(sd_bus_new(&fixture->bus), >=, 0);
	g_assert_cmpint(sd_bus_set_fd(fixture->bus, fds[0], fds[0]), >=, 0);
	g_assert_cmpint(sd_bus_start(fixture->bus), >=, 0);
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
	sd_bus_close_unref(fixture->bus);
	close(fixture->other_fd);
}

static sd_bus_message *message_new(const Fixture *fixture, const char *path)
{
	sd_bus_message *message;

	g_assert_cmpint(sd_bus_message_new_method_call(fixture->bus, &message, NULL, path,
						       "org.example.Test", "Call"),
			>=, 0);
	return message;
}

/* Check the message, which is consumed.  @expected is the name of the error; NULL: none. */
static void check(sd_bus_message *message, const char *expected)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int result;

	g_assert_cmpint(sd_bus_message_seal(message, 1, 0), >=, 0);
	result = bus_message_check(message, &error);
	g_assert_cmpstr(error.name, ==, expected);
	if (expected) {
		g_assert_cmpint(result, <, 0);
	} else {
		g_assert_cmpint(result, ==, 0);
		g_assert_cmpint(sd_bus_message_at_end(message, true), ==,
				sd_bus_message_is_empty(message));
	}
	sd_bus_error_free(&error);
	sd_bus_message_unref(message);
}

/* A message with one array of @n values of @type, each of which is @text or a number. */
static sd_bus_message *array_new(const Fixture *fixture, char type, const char *text, size_t n)
{
	static const uint64_t number = UINT64_MAX;
	const char contents[] = { type, '\0' };
	sd_bus_message *message = message_new(fixture, "/");

	g_assert_cmpint(sd_bus_message_open_container(message, 'a', contents), >=, 0);
	for (size_t i = 0; i < n; i++)
		g_assert_cmpint(sd_bus_message_append_basic(message, type,
							    text ? text : (const void *)&number),
				>=, 0);
	g_assert_cmpint(sd_bus_message_close_container(message), >=, 0);
	return message;
}

/* Texts count with their length, numbers of any type and containers alike, bytes one each. */
static void test_as_much_as_fits_is_taken_and_one_more_is_refused(Fixture *fixture,
								  gconstpointer data)
{
	g_autofree char *name = g_strnfill(1000, 'x');
	g_autofree char *path = g_strconcat("/", name, NULL);
	g_autofree char *signature = g_strnfill(200, 'y');
	const struct {
		char type;
		const char *text;
		size_t value_bytes;
	} cases[] = {
		{ 's', name, 1000 + VALUE_BYTES },
		{ 'o', path, 1001 + VALUE_BYTES },
		{ 'g', signature, 200 + VALUE_BYTES },
		{ 's', "", VALUE_BYTES },
		{ 't', NULL, VALUE_BYTES },
		{ 'q', NULL, VALUE_BYTES },
		{ 'd', NULL, VALUE_BYTES },
		{ 'y', NULL, 1 },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		size_t n_most = (BUS_MESSAGE_BYTES_MAX - VALUE_BYTES) / cases[i].value_bytes;

		check(array_new(fixture, cases[i].type, cases[i].text, n_most), NULL);
		check(array_new(fixture, cases[i].type, cases[i].text, n_most + 1),
		      SD_BUS_ERROR_LIMITS_EXCEEDED);
	}
}

static void test_one_text_may_fill_a_message(Fixture *fixture, gconstpointer data)
{
	g_autofree char *text = g_strnfill(BUS_MESSAGE_BYTES_MAX - VALUE_BYTES + 1, 'x');
	sd_bus_message *message = message_new(fixture, "/");

	g_assert_cmpint(sd_bus_message_append(message, "s", text), >=, 0);
	check(message, SD_BUS_ERROR_LIMITS_EXCEEDED);
	message = message_new(fixture, "/");
	g_assert_cmpint(sd_bus_message_append(message, "s", text + 1), >=, 0);
	check(message, NULL);
}

/* The arguments of a message count together. */
static void test_arguments_are_added_up(Fixture *fixture, gconstpointer data)
{
	g_autofree char *half = g_strnfill(BUS_MESSAGE_BYTES_MAX / 2 - VALUE_BYTES, 'x');
	sd_bus_message *message = message_new(fixture, "/");

	g_assert_cmpint(sd_bus_message_append(message, "ss", half, half), >=, 0);
	check(message, NULL);
	message = message_new(fixture, "/");
	g_assert_cmpint(sd_bus_message_append(message, "ssu", half, half, 7), >=, 0);
	check(message, SD_BUS_ERROR_LIMITS_EXCEEDED);
	message = message_new(fixture, "/");
	g_assert_cmpint(sd_bus_message_append(message, "s(st)", half, half, UINT64_C(7)), >=, 0);
	check(message, SD_BUS_ERROR_LIMITS_EXCEEDED);
}

/* Variants in one another are few bytes, but each is a level. */
static void test_a_message_may_have_eight_levels(Fixture *fixture, gconstpointer data)
{
	for (unsigned n_levels = 0; n_levels <= 10; n_levels++) {
		sd_bus_message *message = message_new(fixture, "/");

		for (unsigned i = 0; i < n_levels; i++)
			g_assert_cmpint(sd_bus_message_open_container(message, 'v',
								      i + 1 < n_levels ? "v" : "s"),
					>=, 0);
		g_assert_cmpint(sd_bus_message_append(message, "s", "innermost"), >=, 0);
		for (unsigned i = 0; i < n_levels; i++)
			g_assert_cmpint(sd_bus_message_close_container(message), >=, 0);
		check(message, n_levels <= 8 ? NULL : SD_BUS_ERROR_LIMITS_EXCEEDED);
	}
}

static void test_a_long_path_is_that_of_no_object(Fixture *fixture, gconstpointer data)
{
	g_autofree char *name = g_strnfill(BUS_PATH_BYTES_MAX, 'x');
	g_autofree char *too_long = g_strconcat("/", name, NULL);
	g_autofree char *longest = g_strndup(too_long, BUS_PATH_BYTES_MAX);

	check(message_new(fixture, longest), NULL);
	check(message_new(fixture, too_long), SD_BUS_ERROR_UNKNOWN_OBJECT);
}

static void test_a_message_is_read_from_its_beginning_afterwards(Fixture *fixture,
								 gconstpointer data)
{
	sd_bus_message *message = message_new(fixture, "/");
	sd_bus_error error = SD_BUS_ERROR_NULL;
	const char *first, *key, *value;
	unsigned number;

	g_assert_cmpint(sd_bus_message_append(message, "sua{sv}", "a", 7u, 1, "key", "s", "value"),
			>=, 0);
	g_assert_cmpint(sd_bus_message_seal(message, 1, 0), >=, 0);
	g_assert_cmpint(bus_message_check(message, &error), ==, 0);
	g_assert_cmpint(
		sd_bus_message_read(message, "sua{sv}", &first, &number, 1, &key, "s", &value), >,
		0);
	g_assert_cmpstr(first, ==, "a");
	g_assert_cmpuint(number, ==, 7);
	g_assert_cmpstr(key, ==, "key");
	g_assert_cmpstr(value, ==, "value");
	sd_bus_message_unref(message);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

#define ADD(name, test) g_test_add("/bus-message/" name, Fixture, NULL, set_up, test, tear_down)
	ADD("as-much-as-fits-is-taken-and-one-more-is-refused",
	    test_as_much_as_fits_is_taken_and_one_more_is_refused);
	ADD("one-text-may-fill-a-message", test_one_text_may_fill_a_message);
	ADD("arguments-are-added-up", test_arguments_are_added_up);
	ADD("a-message-may-have-eight-levels", test_a_message_may_have_eight_levels);
	ADD("a-long-path-is-that-of-no-object", test_a_long_path_is_that_of_no_object);
	ADD("a-message-is-read-from-its-beginning-afterwards",
	    test_a_message_is_read_from_its_beginning_afterwards);

	return g_test_run();
}
