/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <glib.h>

/*
 * SanitizerOrder - tells ThreadSanitizer what liburcu puts in order.
 *
 * liburcu is not built with the sanitizer, which therefore sees none of its atomic operations.  So the
 * modules that call it say where it orders what a thread did before what another one does next.  All
 * other accesses are checked as usual.  Without the sanitizer these functions do nothing.
 *
 * Thread: any.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define SANITIZES_THREADS 1
#endif

#ifdef SANITIZES_THREADS
#include <sanitizer/tsan_interface.h>

/* All that the calling thread did so far comes before what follows sanitizer_order_after(@place). */
static inline void sanitizer_order_before(void *place)
{
	__tsan_release(place);
}

static inline void sanitizer_order_after(void *place)
{
	__tsan_acquire(place);
}
#else
static inline void sanitizer_order_before(void *place G_GNUC_UNUSED)
{
}

static inline void sanitizer_order_after(void *place G_GNUC_UNUSED)
{
}
#endif
