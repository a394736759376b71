/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/pass-result.h"

#include <glib.h>

/*
 * What the service says of a pass: one line for people, and fields for programs, in the journal
 * where standard error goes there.
 *
 * Fields (systemd.journal-fields(7)): MESSAGE_ID is one of those below; DEDUPD_UUID,
 * DEDUPD_MOUNT_POINT, DEDUPD_OUTCOME, DEDUPD_SECONDS, DEDUPD_READ_BYTES, DEDUPD_SHARED_BYTES,
 * DEDUPD_FREED_BYTES.  Names of files are not among them.
 *
 * Thread: main.
 */
#define JOURNAL_PASS_ENDED_ID  "36cf098f0dd247118d19c4275891ad92"
#define JOURNAL_PASS_FAILED_ID "04fd751df44d45a4ae134ebbaa638180"

/*
 * A writer for g_log_set_writer_func(): to the journal, else to standard error.  @data is a bool
 * *: also details.
 */
GLogWriterOutput journal_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			       gpointer data);

/* A pass has ended.  One that found nothing to do is a detail. */
void journal_pass(const char *uuid, const char *mount_point, const PassResult *result);
