/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/*
 * Watch - a thread that looks at a benchmark while it runs.  It tells progress on stderr, notes the most memory and
 * disk space that are in use at a time, and raises the stop flag when it is asked to.
 *
 * Thread: main.
 */
typedef struct Watch Watch;

/* The directory has all files of the benchmark, those without a name among them.  Both are borrowed. */
Watch *watch_new(const char *directory, atomic_bool *stop);
void watch_free(Watch *watch);

/* What is done from now on, and how much of it is done.  Both texts are constants. */
void watch_progress(Watch *watch, const char *phase, double done);

/* What is done for that. */
void watch_step(Watch *watch, const char *step);

/* Raise the stop flag after so many seconds, unless it is called again before. */
void watch_stop_after(Watch *watch, double seconds);

/* Seconds since the flag was raised, and forget the request; 0 if it was not raised yet. */
double watch_since_stop(Watch *watch);

/* The most memory that was no page of a file; the most space of files. */
uint64_t watch_peak_own_bytes(Watch *watch);
uint64_t watch_peak_disk_bytes(Watch *watch);
