/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/system/look-day.h"

bool look_day_is_due(uint64_t last_day, uint64_t today, uint64_t interval)
{
	return today < last_day || today - last_day >= interval;
}
