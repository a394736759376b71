/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/disks/disk-budget.h"
#include "common/threads/thread.h"

#define MIB    (UINT64_C(1) << 20)
#define KIB    (UINT64_C(1) << 10)
#define SECOND INT64_C(1000000)

#define USERS_MAX 3

/* A budget and its users, each of which always wants more. */
typedef struct {
	DiskBudget *budget;
	DiskUser *users[USERS_MAX];
	DiskLimits wanted[USERS_MAX];
	uint64_t got_bytes[USERS_MAX];
	int64_t due_usec[USERS_MAX]; /* when they ask again */
	size_t n_users;
	int64_t now_usec;
} Scene;

static void scene_set_up(Scene *scene, const DiskLimits *limits, size_t n_users)
{
	*scene = (Scene){ .n_users = n_users, .now_usec = 7 * SECOND };
	scene->budget = disk_budget_new(&(DiskRules){ .limits = *limits, .makes_way = true });
	for (size_t i = 0; i < n_users; i++) {
		scene->users[i] = disk_user_new(scene->budget);
		scene->wanted[i] = (DiskLimits){ MIB, 1 };
	}
}

static void scene_tear_down(Scene *scene)
{
	for (size_t i = 0; i < scene->n_users; i++)
		disk_user_free(scene->users[i]);
	disk_budget_unref(scene->budget);
}

static void ask(Scene *scene, size_t i)
{
	int64_t wait_usec;

	do {
		wait_usec = disk_user_ask(scene->users[i], &scene->wanted[i], scene->now_usec);
		g_assert_cmpint(wait_usec, >=, 0);
		g_assert_cmpint(wait_usec, <=, DISK_USER_NAP_USEC);
		if (wait_usec == 0)
			scene->got_bytes[i] += scene->wanted[i].bytes;
	} while (wait_usec == 0);
	scene->due_usec[i] = scene->now_usec + wait_usec;
}

/* Let all users with requests ask when they are due. */
static void run(Scene *scene, int64_t usec)
{
	int64_t end_usec = scene->now_usec + usec;

	for (; scene->now_usec < end_usec; scene->now_usec += 100)
		for (size_t i = 0; i < scene->n_users; i++)
			if (scene->wanted[i].bytes > 0 && scene->due_usec[i] <= scene->now_usec)
				ask(scene, i);
}

static void assert_about(uint64_t found, uint64_t expected)
{
	g_assert_cmpuint(found, >=, expected - expected / 20);
	g_assert_cmpuint(found, <=, expected + expected / 20);
}

static void test_no_limit_never_waits(void)
{
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ 0 });
	g_autoptr(DiskUser) user = disk_user_new(budget);

	g_assert_false(disk_budget_is_limited(budget));
	for (int i = 0; i < 100; i++)
		g_assert_cmpint(disk_user_ask(user, &(DiskLimits){ UINT64_C(1) << 40, 100 }, 1), ==,
				0);
}

static void test_an_idle_bucket_holds_less_than_a_second_of_budget(void)
{
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ .limits.bytes = 64 * MIB });
	g_autoptr(DiskUser) user = disk_user_new(budget);
	const DiskLimits wanted = { 64 * KIB, 1 };
	uint64_t got = 0;

	g_assert_true(disk_budget_is_limited(budget));
	while (disk_user_ask(user, &wanted, 3600 * SECOND) == 0)
		got += wanted.bytes;
	g_assert_cmpuint(got, >=, 4 * MIB);
	g_assert_cmpuint(got, <=, 4 * MIB + 64 * KIB);
}

static void test_both_limits_hold(void)
{
	Scene scene;

	scene_set_up(&scene, &(DiskLimits){ 20 * MIB, 0 }, 1);
	run(&scene, 10 * SECOND);
	assert_about(scene.got_bytes[0], 200 * MIB);
	scene_tear_down(&scene);

	scene_set_up(&scene, &(DiskLimits){ 20 * MIB, 50 }, 1);
	scene.wanted[0] = (DiskLimits){ 4096, 1 };
	run(&scene, 10 * SECOND);
	assert_about(scene.got_bytes[0], UINT64_C(500) * 4096);
	scene_tear_down(&scene);
}

static void test_two_users_of_one_disk_get_the_same(void)
{
	static const uint64_t sizes[] = { 4 * KIB, 64 * KIB, 1 * MIB, 3 * MIB };

	for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++) {
		Scene scene;

		scene_set_up(&scene, &(DiskLimits){ .bytes = 20 * MIB }, 2);
		scene.wanted[1].bytes = sizes[i];
		run(&scene, 20 * SECOND);
		assert_about(scene.got_bytes[0], 200 * MIB);
		assert_about(scene.got_bytes[1], 200 * MIB);
		scene_tear_down(&scene);
	}
}

static void test_who_comes_later_is_not_owed_the_past(void)
{
	Scene scene;

	scene_set_up(&scene, &(DiskLimits){ .bytes = 20 * MIB }, 2);
	scene.wanted[1].bytes = 0;
	run(&scene, 20 * SECOND);
	assert_about(scene.got_bytes[0], 400 * MIB);

	scene.got_bytes[0] = 0;
	scene.wanted[1].bytes = MIB;
	run(&scene, 20 * SECOND);
	assert_about(scene.got_bytes[0], 200 * MIB);
	assert_about(scene.got_bytes[1], 200 * MIB);
	scene_tear_down(&scene);
}

static void test_what_was_not_asked_for_counts_too(void)
{
	Scene scene;

	scene_set_up(&scene, &(DiskLimits){ .bytes = 20 * MIB }, 2);
	for (int i = 0; i < 100; i++) {
		disk_user_settle(scene.users[0], MIB, 1);
		run(&scene, SECOND / 10);
	}
	assert_about(scene.got_bytes[0] + scene.got_bytes[1], 100 * MIB);
	assert_about(scene.got_bytes[1], 100 * MIB);
	g_assert_cmpuint(disk_budget_charged_bytes(scene.budget), ==,
			 scene.got_bytes[0] + scene.got_bytes[1] + 100 * MIB);
	scene_tear_down(&scene);
}

static void test_who_gives_up_holds_nobody_up(void)
{
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ .limits.bytes = MIB });
	DiskUser *gone = disk_user_new(budget);
	g_autoptr(DiskUser) stopped = disk_user_new(budget);
	g_autoptr(DiskUser) stays = disk_user_new(budget);
	const DiskLimits wanted = { MIB, 1 };

	g_assert_cmpint(disk_user_ask(gone, &wanted, SECOND), ==, 0);
	g_assert_cmpint(disk_user_ask(gone, &wanted, SECOND), >, 0);
	g_assert_cmpint(disk_user_ask(stopped, &wanted, SECOND), >, 0);
	g_assert_cmpint(disk_user_ask(stays, &wanted, SECOND), >, 0);
	disk_user_free(gone);
	disk_user_give_up(stopped);
	g_assert_cmpint(disk_user_ask(stays, &wanted, 3 * SECOND), ==, 0);
}

static void test_limits_change_for_who_waits(void)
{
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ .limits.bytes = 1 });
	g_autoptr(DiskUser) user = disk_user_new(budget);
	const DiskLimits wanted = { 1000 * MIB, 1 };

	g_assert_cmpint(disk_user_ask(user, &wanted, SECOND), ==, 0);
	g_assert_cmpint(disk_user_ask(user, &wanted, SECOND), ==, DISK_USER_NAP_USEC);

	disk_budget_set_rules(budget, &(DiskRules){ .limits.bytes = 10000 * MIB });
	g_assert_cmpint(disk_user_ask(user, &wanted, SECOND), >, 0);
	g_assert_cmpint(disk_user_ask(user, &wanted, SECOND + SECOND / 8), ==, 0);

	disk_budget_set_rules(budget, &(DiskRules){ 0 });
	g_assert_false(disk_budget_is_limited(budget));
	g_assert_cmpint(disk_user_ask(user, &wanted, SECOND + SECOND / 8), ==, 0);
}

static void test_the_lesser_limit_counts(void)
{
	static const struct {
		uint64_t limit;
		uint64_t pressure;
		uint64_t expected;
	} cases[] = {
		{ 20 * MIB, 0, 20 * MIB },
		{ 20 * MIB, 10 * MIB, 10 * MIB },
		{ 20 * MIB, 40 * MIB, 20 * MIB },
		{ 0, 10 * MIB, 10 * MIB },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		Scene scene;

		scene_set_up(&scene, &(DiskLimits){ .bytes = cases[i].limit }, 1);
		disk_budget_set_pressure(scene.budget, &(DiskLimits){ .bytes = cases[i].pressure });
		run(&scene, 10 * SECOND);
		assert_about(scene.got_bytes[0], 10 * cases[i].expected);
		scene_tear_down(&scene);
	}
}

/* A thread that really sleeps. */
static void *sleeper(void *data)
{
	DiskUser *user = data;
	const DiskLimits wanted = { 1000 * MIB, 1 };
	int64_t wait_usec;

	while ((wait_usec = disk_user_ask(user, &wanted, g_get_monotonic_time())) > 0)
		g_usleep((unsigned long)wait_usec);
	return NULL;
}

/* The old limit would let it sleep for days. */
static void test_a_sleeper_learns_of_a_new_limit(void)
{
	g_autoptr(DiskBudget) budget = disk_budget_new(&(DiskRules){ .limits.bytes = 1 });
	g_autoptr(DiskUser) user = disk_user_new(budget);
	GThread *thread;

	disk_user_settle(user, MIB, 1);
	thread = thread_new("sleeper", sleeper, user, NULL);
	g_usleep(20000);
	disk_budget_set_rules(budget, &(DiskRules){ 0 });
	g_thread_join(thread);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);

	g_test_add_func("/disk-budget/no-limit-never-waits", test_no_limit_never_waits);
	g_test_add_func("/disk-budget/an-idle-bucket-holds-less-than-a-second-of-budget",
			test_an_idle_bucket_holds_less_than_a_second_of_budget);
	g_test_add_func("/disk-budget/both-limits-hold", test_both_limits_hold);
	g_test_add_func("/disk-budget/two-users-of-one-disk-get-the-same",
			test_two_users_of_one_disk_get_the_same);
	g_test_add_func("/disk-budget/who-comes-later-is-not-owed-the-past",
			test_who_comes_later_is_not_owed_the_past);
	g_test_add_func("/disk-budget/what-was-not-asked-for-counts-too",
			test_what_was_not_asked_for_counts_too);
	g_test_add_func("/disk-budget/who-gives-up-holds-nobody-up",
			test_who_gives_up_holds_nobody_up);
	g_test_add_func("/disk-budget/limits-change-for-who-waits",
			test_limits_change_for_who_waits);
	g_test_add_func("/disk-budget/the-lesser-limit-counts", test_the_lesser_limit_counts);
	g_test_add_func("/disk-budget/a-sleeper-learns-of-a-new-limit",
			test_a_sleeper_learns_of_a_new_limit);

	return g_test_run();
}
