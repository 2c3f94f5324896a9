// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// TCP-Illinois: S. Liu, T. Basar and R. Srikant, "TCP-Illinois: a loss and delay-based congestion control algorithm for
// high-speed networks", VALUETOOLS 2006. Losses say whether the window grows or falls; queueing delay says by how much: by alpha
// packets in a round trip, from 10 without a queue to 0.3 at the longest, and by beta, from 1/8 to 1/2.

#include "window.h"

enum { ALPHA_LARGEST = 10 * PACKET, BETA_SMALLEST = PACKET / 8, BETA_LARGEST = PACKET / 2 };
enum { LEGACY_WINDOW = 15 };  // below it as any TCP
enum { PATIENCE = 5 };        // rounds with nearly no delay until alpha is the largest again (theta)
enum { HUNDREDTHS_LOW = 1, HUNDREDTHS_SOME = 10, HUNDREDTHS_HIGH = 80 }; // d1, d2 and d3, of the longest delay

struct illinois {
	u64 sum_us; // of the round trips of this round
	u32 count;  // of them
	u32 base_us, longest_us;
	u32 round_end;
	u32 calm; // rounds with nearly no delay so far
	u32 alpha, beta; // in units of 1 / PACKET
	u32 fraction;
};
FITS(illinois);

ALWAYS_INLINE void be_as_any(struct illinois *illinois)
{
	illinois->calm = 0;
	illinois->alpha = PACKET;
	illinois->beta = BETA_LARGEST;
}

ALWAYS_INLINE void begin_round(struct illinois *illinois)
{
	illinois->sum_us = 0;
	illinois->count = 0;
}

// kappa1 / (kappa2 + delay), which is 10 at d1 and 0.3 at the longest delay, for a delay above d1.
ALWAYS_INLINE u32 alpha_at(u64 delay, u64 longest)
{
	u64 low = longest * HUNDREDTHS_LOW / 100;
	u64 range = longest - low, above = delay - low;

	return range * 30 * PACKET / (range * 3 + above * 97);
}

ALWAYS_INLINE u32 next_alpha(struct illinois *illinois, u64 delay, u64 longest)
{
	if (delay > longest * HUNDREDTHS_LOW / 100) {
		illinois->calm = 0;
		return alpha_at(delay, longest);
	}
	illinois->calm = smaller(illinois->calm + 1, PATIENCE);
	return illinois->calm < PATIENCE ? illinois->alpha : ALPHA_LARGEST;
}

ALWAYS_INLINE u32 beta_at(u64 delay, u64 longest)
{
	u64 some = longest * HUNDREDTHS_SOME / 100, high = longest * HUNDREDTHS_HIGH / 100;

	if (delay <= some)
		return BETA_SMALLEST;
	if (delay >= high)
		return BETA_LARGEST;
	return BETA_SMALLEST + (delay - some) * (BETA_LARGEST - BETA_SMALLEST) / (high - some);
}

ALWAYS_INLINE void end_round(struct illinois *illinois, const struct tcp_sock *tp)
{
	if (tp->snd_cwnd < LEGACY_WINDOW) {
		be_as_any(illinois);
	} else if (illinois->count) {
		u64 delay = illinois->sum_us / illinois->count - illinois->base_us;
		u64 longest = illinois->longest_us - illinois->base_us;

		illinois->alpha = next_alpha(illinois, delay, longest);
		illinois->beta = beta_at(delay, longest);
	}
	begin_round(illinois);
}

SECTION("struct_ops") void illinois_init(u64 *arguments)
{
	struct illinois *illinois = STATE(illinois, arguments);

	illinois->base_us = NO_ROUND_TRIP;
	illinois->longest_us = 0;
	illinois->round_end = TCP(arguments)->snd_nxt;
	illinois->fraction = 0;
	be_as_any(illinois);
	begin_round(illinois);
}

SECTION("struct_ops") void illinois_pkts_acked(u64 *arguments)
{
	struct illinois *illinois = STATE(illinois, arguments);
	u32 round_trip_us = round_trip_of(arguments);

	if (round_trip_us == NO_ROUND_TRIP)
		return;
	illinois->base_us = smaller(illinois->base_us, round_trip_us);
	illinois->longest_us = larger(illinois->longest_us, round_trip_us);
	illinois->sum_us += round_trip_us;
	illinois->count += 1;
}

SECTION("struct_ops") void illinois_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct illinois *illinois = STATE(illinois, arguments);
	u32 acknowledged;

	if (is_round_over(tp, &illinois->round_end))
		end_round(illinois, tp);
	acknowledged = left_by_slow_start(tp, arguments[2]);
	grow(tp, &illinois->fraction, (u64)acknowledged * illinois->alpha / tp->snd_cwnd);
}

// A time-out tells that nothing is known any more.
SECTION("struct_ops") void illinois_set_state(u64 *arguments)
{
	if (arguments[1] == STATE_LOSS)
		be_as_any(STATE(illinois, arguments));
}

SECTION("struct_ops") u32 illinois_ssthresh(u64 *arguments)
{
	u32 window = TCP(arguments)->snd_cwnd;
	u32 reduction = (u64)window * STATE(illinois, arguments)->beta / PACKET;

	return larger(window - reduction, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 illinois_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_illinois = {
	.init = (void *)illinois_init,
	.ssthresh = (void *)illinois_ssthresh,
	.cong_avoid = (void *)illinois_cong_avoid,
	.pkts_acked = (void *)illinois_pkts_acked,
	.set_state = (void *)illinois_set_state,
	.undo_cwnd = (void *)illinois_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_illinois",
};
