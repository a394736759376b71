/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "cli/terminal/options.h"
#include "cli/terminal/table.h"
#include "common/text/exit-status.h"

/*
 * Verb - one command of dedupctl, in a file verb-NAME.c.  A name may consist of two words.
 *
 * Thread: main.
 */
typedef struct {
	const char *name;
	const char *arguments;  /* after the options, for --help; "": none */
	const char *summary;    /* one line for --help */
	VerbOptions takes;      /* options beyond the common ones */
	const TableKind *table; /* the table that it prints; NULL: none */
	/* Prints results on standard output, and errors on standard error. */
	ExitStatus (*run)(const Options *options);
} Verb;

extern const TableKind table_of_status;
extern const TableKind table_of_history;
extern const TableKind table_of_config;
extern const TableKind table_of_list;
extern const TableKind table_of_log;
extern const TableKind table_of_shared;
extern const TableKind table_of_file;
extern const TableKind table_of_unique;
extern const TableKind table_of_why;
extern const TableKind table_of_waste;
extern const TableKind table_of_budget;
extern const TableKind table_of_doctor;
extern const TableKind table_of_verify;
extern const TableKind table_of_store_vacuum;
extern const TableKind table_of_store_prune;
extern const TableKind table_of_store_check;
extern const TableKind table_of_store_size;

ExitStatus verb_status(const Options *options);
ExitStatus verb_history(const Options *options);
ExitStatus verb_config(const Options *options);
ExitStatus verb_enable(const Options *options);
ExitStatus verb_disable(const Options *options);
ExitStatus verb_list(const Options *options);
ExitStatus verb_log(const Options *options);
ExitStatus verb_duplicates(const Options *options);
ExitStatus verb_unique(const Options *options);
ExitStatus verb_waste(const Options *options);
ExitStatus verb_why(const Options *options);
ExitStatus verb_file(const Options *options);
ExitStatus verb_shared(const Options *options);
ExitStatus verb_snapshots(const Options *options);
ExitStatus verb_start(const Options *options);
ExitStatus verb_run(const Options *options);
ExitStatus verb_stop(const Options *options);
ExitStatus verb_pause(const Options *options);
ExitStatus verb_resume(const Options *options);
ExitStatus verb_metrics(const Options *options);
ExitStatus verb_hold(const Options *options);
ExitStatus verb_forget(const Options *options);
ExitStatus verb_budget(const Options *options);
ExitStatus verb_reload(const Options *options);
ExitStatus verb_store_size(const Options *options);
ExitStatus verb_store_check(const Options *options);
ExitStatus verb_store_prune(const Options *options);
ExitStatus verb_store_vacuum(const Options *options);
ExitStatus verb_verify(const Options *options);
ExitStatus verb_doctor(const Options *options);
ExitStatus verb_estimate(const Options *options);
ExitStatus verb_export(const Options *options);
ExitStatus verb_import(const Options *options);
ExitStatus verb_fleet_key(const Options *options);
