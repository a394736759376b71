/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "tests/fs/programs/raced-file.h"

/*
 * RacedTree - a subvolume of raced files, or a snapshot of one, and its name in a directory.
 *
 * On XFS it is a directory, and a snapshot is one of clones.
 *
 * No file descriptor stays open between calls.
 *
 * Thread: that of its files.
 */
typedef struct {
	char *path;
	GPtrArray *files;  /* of RacedFile */
	bool is_read_only; /* on XFS nothing but this says so */
	bool is_subvolume;
} RacedTree;

RacedTree *raced_tree_create(const char *path, GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* A snapshot of @tree as it is. */
RacedTree *raced_tree_snapshot(const RacedTree *tree, const char *path, bool is_read_only,
			       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Delete the subvolume; the tree stays to be freed. */
bool raced_tree_delete(const RacedTree *tree, GError **error) G_GNUC_WARN_UNUSED_RESULT;
void raced_tree_free(RacedTree *tree);

/* An open directory, or -1. */
int raced_tree_open(const RacedTree *tree, GError **error);

RacedFile *raced_tree_file(const RacedTree *tree, guint index);

/* The file takes another name, which may be that of the file at @replaced, or -1. */
bool raced_tree_rename(RacedTree *tree, int fd, RacedFile *file, int replaced, const char *name,
		       GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Unlink a file, which is freed, and create another in its place. */
bool raced_tree_renew(RacedTree *tree, int fd, guint index, const char *name, bool is_no_cow,
		      GError **error) G_GNUC_WARN_UNUSED_RESULT;

/* Compare everything with what it must be; there may be no other files, either. */
bool raced_tree_check(const RacedTree *tree, GError **error) G_GNUC_WARN_UNUSED_RESULT;

G_DEFINE_AUTOPTR_CLEANUP_FUNC(RacedTree, raced_tree_free)
