/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/events/event.h"

#include <glib.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

/* The same of sd-event(3) and of common/events in its place. */

#define MOMENT_USEC (G_USEC_PER_SEC / 50)
#define LONG_USEC   (20 * G_USEC_PER_SEC)

typedef struct {
	sd_event *event;
	sd_event_source *source;
	unsigned n_calls;
	uint32_t events;
	int result;
} Scene;

static void set_up(Scene *scene, const void *unused)
{
	*scene = (Scene){ 0 };
	g_assert_cmpint(sd_event_new(&scene->event), >=, 0);
}

static void tear_down(Scene *scene, const void *unused)
{
	sd_event_source_unref(scene->source);
	sd_event_unref(scene->event);
}

/* Events until nothing happens for a moment. */
static void run(Scene *scene)
{
	while (sd_event_run(scene->event, MOMENT_USEC) > 0)
		;
}

static int on_time(sd_event_source *source, uint64_t usec, void *data)
{
	Scene *scene = data;

	scene->n_calls++;
	return scene->result;
}

static int on_defer(sd_event_source *source, void *data)
{
	return on_time(source, 0, data);
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data)
{
	((Scene *)data)->events |= events;
	return on_time(source, 0, data);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	g_assert_cmpint(info->ssi_signo, ==, SIGUSR1);
	return sd_event_exit(sd_event_source_get_event(source), 7);
}

static int on_time_again(sd_event_source *source, uint64_t usec, void *data)
{
	Scene *scene = data;

	if (++scene->n_calls == 3)
		return 0;
	g_assert_cmpint(sd_event_source_set_time_relative(source, 1), >=, 0);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int on_time_drops_itself(sd_event_source *source, uint64_t usec, void *data)
{
	Scene *scene = data;

	scene->source = sd_event_source_unref(scene->source);
	return on_time(source, usec, data);
}

static void add_timer(Scene *scene, uint64_t usec, sd_event_time_handler_t handler)
{
	g_assert_cmpint(sd_event_add_time_relative(scene->event, &scene->source, CLOCK_MONOTONIC,
						   usec, 0, handler, scene),
			>=, 0);
}

static void test_timer_fires_once(Scene *scene, const void *unused)
{
	add_timer(scene, 1, on_time);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
	g_assert_cmpint(sd_event_source_get_enabled(scene->source, NULL), ==, 0);
}

static void test_timer_fires_again_if_its_handler_sets_it(Scene *scene, const void *unused)
{
	add_timer(scene, 1, on_time_again);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 3);
}

static void test_timer_that_is_off_does_not_fire(Scene *scene, const void *unused)
{
	add_timer(scene, 0, on_time);
	g_assert_cmpint(sd_event_source_set_enabled(scene->source, SD_EVENT_OFF), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);

	g_assert_cmpint(sd_event_source_set_time(scene->source, 0), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);
	g_assert_cmpint(sd_event_source_set_enabled(scene->source, SD_EVENT_ONESHOT), >=, 0);
	g_assert_cmpint(sd_event_source_get_enabled(scene->source, NULL), >, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
}

static void test_timer_can_be_set_to_a_later_time(Scene *scene, const void *unused)
{
	add_timer(scene, 0, on_time);
	g_assert_cmpint(sd_event_source_set_time_relative(scene->source, LONG_USEC), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);
	g_assert_cmpint(sd_event_source_set_time(scene->source, 0), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
}

static void test_timer_of_the_wall_clock_fires_at_its_time(Scene *scene, const void *unused)
{
	uint64_t now_usec = (uint64_t)g_get_real_time();

	g_assert_cmpint(sd_event_add_time(scene->event, NULL, CLOCK_REALTIME, now_usec + LONG_USEC,
					  0, on_time, scene),
			>=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);
	g_assert_cmpint(
		sd_event_add_time(scene->event, NULL, CLOCK_REALTIME, now_usec, 0, on_time, scene),
		>=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
}

static void test_timer_may_end_in_its_handler(Scene *scene, const void *unused)
{
	add_timer(scene, 0, on_time_drops_itself);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
}

static void test_deferred_call_comes_once(Scene *scene, const void *unused)
{
	g_assert_cmpint(sd_event_add_defer(scene->event, &scene->source, on_defer, scene), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 1);
	g_assert_cmpint(sd_event_source_set_enabled(scene->source, SD_EVENT_ONESHOT), >=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 2);
}

static void test_descriptor_is_watched_until_its_handler_fails(Scene *scene, const void *unused)
{
	int pipe_fds[2];

	g_assert_cmpint(pipe(pipe_fds), ==, 0);
	g_assert_cmpint(
		sd_event_add_io(scene->event, &scene->source, pipe_fds[0], EPOLLIN, on_io, scene),
		>=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);

	g_assert_cmpint(write(pipe_fds[1], "x", 1), ==, 1);
	for (unsigned n = 1; n <= 3; n++) {
		g_assert_cmpint(sd_event_run(scene->event, LONG_USEC), >, 0);
		g_assert_cmpuint(scene->n_calls, ==, n);
	}
	g_assert_cmpuint(scene->events, ==, EPOLLIN);

	scene->result = -1;
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 4);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

/* A lease is watched so. */
static void test_end_of_the_other_side_is_reported_to_all(Scene *scene, const void *unused)
{
	int pipe_fds[2];

	g_assert_cmpint(pipe(pipe_fds), ==, 0);
	g_assert_cmpint(sd_event_add_io(scene->event, &scene->source, pipe_fds[0], 0, on_io, scene),
			>=, 0);
	run(scene);
	g_assert_cmpuint(scene->n_calls, ==, 0);
	close(pipe_fds[1]);
	g_assert_cmpint(sd_event_run(scene->event, LONG_USEC), >, 0);
	g_assert_cmpuint(scene->events, ==, EPOLLHUP);
	close(pipe_fds[0]);
}

static void test_signal_ends_the_loop_with_a_code(Scene *scene, const void *unused)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	g_assert_cmpint(sd_event_add_signal(scene->event, NULL, SIGUSR1, on_signal, scene), >=, 0);
	kill(getpid(), SIGUSR1);
	g_assert_cmpint(sd_event_loop(scene->event), ==, 7);
	g_assert_cmpint(sd_event_run(scene->event, 0), <, 0);
}

#define ADD(path, test) g_test_add("/event/" path, Scene, NULL, set_up, test, tear_down)

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	ADD("timer/once", test_timer_fires_once);
	ADD("timer/again", test_timer_fires_again_if_its_handler_sets_it);
	ADD("timer/off", test_timer_that_is_off_does_not_fire);
	ADD("timer/later", test_timer_can_be_set_to_a_later_time);
	ADD("timer/wall-clock", test_timer_of_the_wall_clock_fires_at_its_time);
	ADD("timer/end", test_timer_may_end_in_its_handler);
	ADD("defer", test_deferred_call_comes_once);
	ADD("io/watched", test_descriptor_is_watched_until_its_handler_fails);
	ADD("io/end", test_end_of_the_other_side_is_reported_to_all);
	ADD("signal", test_signal_ends_the_loop_with_a_code);

	return g_test_run();
}
