/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/bus/bus-message.h"

#include <errno.h>
#include <string.h>

/* Each value counts at least this much, so that no message has many: an empty array takes 4 bytes. */
#define VALUE_BYTES 4

/* No call needs more than two.  D-Bus allows 64. */
#define LEVELS_MAX 8

static int measure_all(sd_bus_message *message, int n_levels, size_t *n_bytes);

static int measure_container(sd_bus_message *message, char type, const char *contents, int n_levels,
			     size_t *n_bytes)
{
	int failed;

	if (n_levels == 0)
		return -E2BIG;

	failed = sd_bus_message_enter_container(message, type, contents);
	if (failed >= 0)
		failed = measure_all(message, n_levels - 1, n_bytes);
	return failed < 0 ? failed : sd_bus_message_exit_container(message);
}

static int measure_bytes(sd_bus_message *message, size_t *n_bytes)
{
	const void *bytes;
	size_t n;
	int failed = sd_bus_message_read_array(message, SD_BUS_TYPE_BYTE, &bytes, &n);

	*n_bytes += n;
	return failed;
}

static bool is_text(char type)
{
	return type == SD_BUS_TYPE_STRING || type == SD_BUS_TYPE_OBJECT_PATH ||
	       type == SD_BUS_TYPE_SIGNATURE;
}

static int measure_basic(sd_bus_message *message, char type, size_t *n_bytes)
{
	union {
		const char *text;
		uint64_t number;
	} value = { 0 };
	int failed = sd_bus_message_read_basic(message, type, &value);

	if (failed > 0 && is_text(type))
		*n_bytes += strlen(value.text);
	return failed;
}

/* Stops when there are too many. */
static int measure_all(sd_bus_message *message, int n_levels, size_t *n_bytes)
{
	const char *contents;
	char type;
	int failed;

	while ((failed = sd_bus_message_peek_type(message, &type, &contents)) > 0) {
		if (!contents)
			failed = measure_basic(message, type, n_bytes);
		else if (type == SD_BUS_TYPE_ARRAY && strcmp(contents, "y") == 0)
			failed = measure_bytes(message, n_bytes);
		else
			failed = measure_container(message, type, contents, n_levels, n_bytes);

		*n_bytes += VALUE_BYTES;
		if (failed >= 0 && *n_bytes > BUS_MESSAGE_BYTES_MAX)
			failed = -E2BIG;
		if (failed < 0)
			break;
	}

	return failed;
}

int bus_message_check(sd_bus_message *message, sd_bus_error *error)
{
	const char *path = sd_bus_message_get_path(message);
	size_t n_bytes = 0;
	int failed;

	if (path && strlen(path) > BUS_PATH_BYTES_MAX)
		return sd_bus_error_set(error, SD_BUS_ERROR_UNKNOWN_OBJECT,
					"no object has such a long path");

	failed = measure_all(message, LEVELS_MAX, &n_bytes);
	if (failed == -E2BIG)
		return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
					 "a message may have %d bytes and %d levels at most",
					 BUS_MESSAGE_BYTES_MAX, LEVELS_MAX);
	if (failed < 0)
		return sd_bus_error_set_errno(error, failed);

	failed = sd_bus_message_rewind(message, true);
	return failed < 0 ? sd_bus_error_set_errno(error, failed) : 0;
}

bool bus_message_is_behind(sd_bus *connection, uint64_t n_most)
{
	uint64_t n_queued;

	return sd_bus_get_n_queued_write(connection, &n_queued) < 0 || n_queued > n_most;
}
