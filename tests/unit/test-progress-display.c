/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/report/progress-display.h"

#include "kernel-ioctl/call/fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR "\r\033[K"

#define LINE "/srv: walking  1234 files"

/* Standard error of the process is @fd, until the test has it back. */
static int redirect(int fd)
{
	int before = dup(STDERR_FILENO);

	g_assert_cmpint(before, >=, 0);
	g_assert_cmpint(dup2(fd, STDERR_FILENO), ==, STDERR_FILENO);
	return before;
}

static void restore(int before)
{
	g_assert_cmpint(dup2(before, STDERR_FILENO), ==, STDERR_FILENO);
	close(before);
}

/* A terminal ends with an error when nobody has it open any more. */
static char *read_to_end(int fd)
{
	GString *text = g_string_new(NULL);
	char bytes[256];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		g_string_append_len(text, bytes, n);
	return g_string_free(text, false);
}

static void assert_shown(unsigned short columns, const char *expected)
{
	const struct winsize size = { .ws_col = columns };
	g_auto(Fd) terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	g_autoptr(ProgressDisplay) display = NULL;
	g_autofree char *shown = NULL;
	Progress progress = { .stage = STAGE_WALK, .files = 1234 };
	int screen, before;

	g_assert_cmpint(terminal, >=, 0);
	g_assert_cmpint(grantpt(terminal), ==, 0);
	g_assert_cmpint(unlockpt(terminal), ==, 0);
	screen = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	g_assert_cmpint(screen, >=, 0);
	g_assert_cmpint(ioctl(screen, TIOCSWINSZ, &size), ==, 0);

	before = redirect(screen);
	display = progress_display_new(&progress, "/srv");
	progress_display_update(display);
	progress_display_clear(display);
	restore(before);
	close(screen);
	shown = read_to_end(terminal);
	g_assert_cmpstr(shown, ==, expected);
}

/* In the last column it would go on in the next row, and could not be overwritten. */
static void test_the_line_leaves_the_last_column_of_the_terminal_free(void)
{
	assert_shown(26, CLEAR LINE CLEAR);
	assert_shown(25, CLEAR "/srv: walking  1234 file" CLEAR);
	assert_shown(6, CLEAR "/srv:" CLEAR);
}

static void test_a_terminal_of_unknown_width_shows_the_line(void)
{
	assert_shown(0, CLEAR LINE CLEAR);
}

static void test_a_file_gets_a_line_of_each_stage(void)
{
	g_autoptr(ProgressDisplay) display = NULL;
	g_autofree char *shown = NULL;
	Progress progress = { .stage = STAGE_WALK, .files = 1234 };
	int ends[2], before;

	g_assert_cmpint(pipe(ends), ==, 0);
	before = redirect(ends[1]);
	display = progress_display_new(&progress, "/srv");
	progress_display_update(display);
	progress_display_update(display);
	progress_begin(&progress, STAGE_MATCH, 0);
	progress_display_update(display);
	progress_display_clear(display);
	restore(before);
	close(ends[1]);
	shown = read_to_end(ends[0]);
	close(ends[0]);
	g_assert_cmpstr(shown, ==, LINE "\n/srv: matching\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/progress-display/terminal",
			test_the_line_leaves_the_last_column_of_the_terminal_free);
	g_test_add_func("/progress-display/unknown-width",
			test_a_terminal_of_unknown_width_shows_the_line);
	g_test_add_func("/progress-display/file", test_a_file_gets_a_line_of_each_stage);
	return g_test_run();
}
