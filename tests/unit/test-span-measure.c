/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/files/span-measure.h"

#define POSITIONS 64

/* Count the bytes of a range one by one. */
static uint64_t count(const unsigned *depths, unsigned least, uint64_t begin, uint64_t end)
{
	uint64_t sum = 0;

	for (uint64_t at = begin; at < end; at++)
		sum += least == 0 ? depths[at] : depths[at] >= least;
	return sum;
}

static void add_spans(SpanMeasure *measure, unsigned *depths, GRand *chance)
{
	for (gint32 n = g_rand_int_range(chance, 0, 12); n > 0; n--) {
		uint64_t begin = (uint64_t)g_rand_int_range(chance, 0, POSITIONS);
		uint64_t end = (uint64_t)g_rand_int_range(chance, 0, POSITIONS);
		unsigned times = (unsigned)g_rand_int_range(chance, 1, 3);

		span_measure_add(measure, begin, end, times);
		for (uint64_t at = begin; at < end; at++)
			depths[at] += times;
	}
}

static void test_each_range_counts_what_its_bytes_count(void)
{
	g_autoptr(SpanMeasure) measure = span_measure_new();
	GRand *chance = g_rand_new_with_seed(1);

	for (unsigned round = 0; round < 300; round++) {
		unsigned depths[POSITIONS] = { 0 };
		unsigned least = round % 4;

		span_measure_clear(measure);
		add_spans(measure, depths, chance);
		span_measure_finish(measure, least);
		for (uint64_t begin = 0; begin < POSITIONS; begin++)
			for (uint64_t end = 0; end <= POSITIONS; end++)
				g_assert_cmpuint(span_measure_bytes(measure, begin, end), ==,
						 count(depths, least, begin, end));
	}
	g_rand_free(chance);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/span-measure/ranges", test_each_range_counts_what_its_bytes_count);
	return g_test_run();
}
