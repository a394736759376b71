/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "daemon/context/pass-result.h"

#include <glib.h>

/*
 * The log of passes: one line for people, and fields for programs if standard error goes to the journal.
 *
 * Fields (systemd.journal-fields(7)): MESSAGE_ID is one of those below, which systemd/dedupd.catalog explains;
 * DEDUPD_UUID, DEDUPD_MOUNT_POINT, DEDUPD_OUTCOME, DEDUPD_SECONDS, DEDUPD_READ_BYTES, DEDUPD_SHARED_BYTES,
 * DEDUPD_FREED_BYTES.  They contain no names of files.
 *
 * Thread: main.
 */
#define JOURNAL_PASS_ENDED_ID     "36cf098f0dd247118d19c4275891ad92"
#define JOURNAL_PASS_FAILED_ID    "04fd751df44d45a4ae134ebbaa638180"
#define JOURNAL_CONFIG_REFUSED_ID "78dfecae1f2f495798a75f2c127198a3"

/*
 * A writer for g_log_set_writer_func(): to the journal, else to standard error.  @data is a bool
 * *: also details.
 */
GLogWriterOutput journal_write(GLogLevelFlags level, const GLogField *fields, gsize n_fields,
			       gpointer data);

/* Whether the log goes to the journal. */
bool journal_is_written(void);

/* Log the end of a pass.  A pass that found nothing to do is a detail. */
void journal_pass(const char *uuid, const char *mount_point, const PassResult *result);

/* Log that a pass could not begin. */
void journal_pass_not_begun(const char *uuid, const char *mount_point, const GError *error);

/* Log that the configuration is faulty after a reload, and that the old one stays in force. */
void journal_config_refused(const GError *error);
