// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// HighSpeed TCP: RFC 3649. Windows above 38 packets grow by a(w) packets in each round trip and fall by b(w) at a loss, so that
// w = 0.12 / p^0.835 under a loss of p (section 5).

#include "window.h"

struct row {
	u32 window;   // the smallest window at which the growth is this row's: its place in the table, from 1
	u32 decrease; // b(w), in units of 1 / DECREASE_ONE
};

enum { DECREASE_ONE = 1024 };

// As Appendix B has it, to two packets: where a(w) = w^2 p(w) 2 b(w) / (2 - b(w)) passes each whole number, with p(w) = 0.078 / w^1.2 and b(w) from
// 0.5 at 38 packets to 0.1 at 83000, linear in the logarithm.
static const struct row ROWS[] = {
	{38, 512}, {118, 452}, {221, 418}, {347, 394}, {494, 375}, {662, 360}, {849, 347}, {1056, 335}, {1282, 325},
	{1527, 315}, {1791, 307}, {2073, 299}, {2375, 292}, {2695, 285}, {3035, 279}, {3395, 273}, {3774, 267},
	{4173, 262}, {4592, 257}, {5032, 252}, {5493, 247}, {5975, 243}, {6479, 238}, {7005, 234}, {7554, 230},
	{8126, 226}, {8722, 222}, {9342, 219}, {9987, 215}, {10658, 212}, {11355, 208}, {12080, 205}, {12832, 202},
	{13613, 199}, {14424, 196}, {15265, 193}, {16138, 190}, {17044, 187}, {17984, 184}, {18959, 181},
	{19971, 178}, {21020, 176}, {22110, 173}, {23240, 170}, {24413, 168}, {25632, 165}, {26897, 162},
	{28211, 160}, {29578, 157}, {30998, 155}, {32477, 152}, {34015, 150}, {35618, 147}, {37289, 145},
	{39032, 143}, {40853, 140}, {42756, 138}, {44748, 135}, {46836, 133}, {49027, 130}, {51330, 128},
	{53757, 126}, {56318, 123}, {59029, 121}, {61906, 118}, {64970, 115}, {68246, 113}, {71765, 110},
	{75567, 107}, {79705, 105}, {84250, 102}, {89302, 99}, {95010, 95},
};

enum { ROWS_COUNT = sizeof(ROWS) / sizeof(ROWS[0]), FIRST_STEP = 64 };

struct highspeed {
	u32 fraction;
};
FITS(highspeed);

// The place of the last row that begins at most at `window`.
ALWAYS_INLINE u32 row_of(u32 window)
{
	u32 place = 0;

	for (u32 step = FIRST_STEP; step; step /= 2)
		if (place + step < ROWS_COUNT && ROWS[place + step].window <= window)
			place += step;
	return place;
}

SECTION("struct_ops") void highspeed_init(u64 *arguments)
{
	STATE(highspeed, arguments)->fraction = 0;
}

SECTION("struct_ops") void highspeed_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);
	u32 packets_each_round = row_of(tp->snd_cwnd) + 1;

	grow(tp, &STATE(highspeed, arguments)->fraction, growth_of_reno(tp, acknowledged) * packets_each_round);
}

SECTION("struct_ops") u32 highspeed_ssthresh(u64 *arguments)
{
	u32 window = TCP(arguments)->snd_cwnd;
	u32 place = row_of(window);

	if (place >= ROWS_COUNT)
		return MINIMUM_WINDOW; // never; the kernel's verifier wants to see that
	return larger(window - (u64)window * ROWS[place].decrease / DECREASE_ONE, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 highspeed_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_highspeed = {
	.init = (void *)highspeed_init,
	.ssthresh = (void *)highspeed_ssthresh,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.undo_cwnd = (void *)highspeed_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_highspeed",
};
