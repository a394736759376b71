/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "hashstore/database/database.h"

/*
 * Schema - the tables of a store, made and upgraded by numbered steps.
 *
 * Step N leads from version N - 1 to version N; the file holds its version as user_version.  A released step
 * is never edited: a change is a new step.
 */
#define SCHEMA_APPLICATION_ID 0x64647031 /* "ddp1" */

typedef struct {
	const char *const *steps; /* SQL */
	int n_steps;
	int readable_from; /* stores of this version on can be read without the later steps */
} Schema;

/* The schema of this version of dedupd. */
extern const Schema schema_current;

/* The version from which pass_total has outcomes. */
#define SCHEMA_WITH_OUTCOMES 16

typedef enum {
	SCHEMA_EMPTY,    /* the file is empty */
	SCHEMA_OLDER,    /* schema_upgrade() has steps to take */
	SCHEMA_READABLE, /* the same, but readers do not need them */
	SCHEMA_CURRENT,
} SchemaState;

/* Classify the file.  HASH_STORE_ERROR_FOREIGN, _NEWER or _CORRUPT if it cannot be used. */
bool schema_examine(Database *database, const Schema *schema, SchemaState *ret, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;

/* Take the missing steps, inside the caller's transaction. */
bool schema_upgrade(Database *database, const Schema *schema, GError **error)
	G_GNUC_WARN_UNUSED_RESULT;
