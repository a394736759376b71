/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/context/known-file.h"
#include "daemon/inventory/inventory-internal.h"

/*
 * The files come before all others, as what did not change is best to stand for what did: then the next
 * change of that concerns nobody.
 */
static bool add_relying(Inventory *inventory, const Object *known, GError **error)
{
	g_autofree char *name = g_strndup((const char *)known->name, known->name_bytes);
	ReadItem item = {
		.id = { known->subvolume, known->inode, known->generation },
		.stamp = known_file_stamp(known),
		.parent = known->parent,
		.physical = 1,
		.name = name,
		.changes = known->changes,
		.is_foreign = known->flags & OBJECT_FOREIGN,
	};

	return inventory_flush(inventory, error) && read_list_add(inventory->to_read, &item, error);
}

/* Whether no file is beyond the pass, which leaves those alone that are. */
static bool sees_all(const Inventory *inventory)
{
	const Pass *pass = inventory->pass;

	return !pass->keeps_left_out &&
	       (pass->result->listed_inodes || walk_saw_all_of(inventory->walk, 0));
}

bool inventory_list_relying(Inventory *inventory, GError **error)
{
	Pass *pass = inventory->pass;
	g_autoptr(ObjectCursor) cursor = NULL;
	bool are_expected;

	if (!lost_stand_ins_are_expected(pass->store, &are_expected, error))
		return false;
	if (!are_expected || inventory->sizes || !lost_stand_ins_end(inventory->lost))
		return true;
	if (!sees_all(inventory))
		return lost_stand_ins_note_all(pass->store, error);

	cursor = object_cursor_open(pass->store, error);
	while (cursor && pass_checkpoint(pass)) {
		const Object *known;

		if (!object_cursor_next(cursor, &known, error))
			return false;
		if (!known) {
			inventory->lists_relying = true;
			return true;
		}
		if (lost_stand_ins_concern(inventory->lost, known) &&
		    !add_relying(inventory, known, error))
			return false;
	}

	return cursor;
}

bool inventory_finish_reading(Inventory *inventory, GError **error)
{
	return !inventory->lists_relying ||
	       lost_stand_ins_clear_note(inventory->pass->store, error);
}
