// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// CAIA Delay-Gradient: D. Hayes and G. Armitage, "Revisiting TCP congestion control using delay gradients", IFIP Networking 2011.
// The more the round trip rises from one round to the next, the likelier the window falls to 0.7. A loss counts only where the
// queue seems full; a shadow of the window keeps what falls by delay have cost beside flows that only fill queues.

#include "power.h"
#include "window.h"

enum { SAMPLES = 8 };          // of the moving average (a)
enum { SCALE_US = 3000 };      // G: the rise at which 1 - 1/e of the rounds fall
enum { KEPT = 7, OF = 10 };    // of the window after a rise
enum { USELESS = 5, HOLD = 5 }; // falls in a row without effect; rises then left out
enum { EXPONENT_MOST = 16 };

enum { QUEUE_UNKNOWN, QUEUE_FULL, QUEUE_EMPTY, QUEUE_MOVING };

struct cdg {
	s32 smallest_gradients[SAMPLES], largest_gradients[SAMPLES]; // of the round trips of the last rounds, microseconds
	u32 smallest_us, largest_us;   // round trip of this round
	u32 smallest_before_us, largest_before_us; // of the one before; NO_ROUND_TRIP and 0 without one
	u32 round_end;
	u32 shadow;  // packets
	u32 chance;  // state of the random numbers, never 0
	u8 rises;    // answered or left out in a row
	u8 queue;    // QUEUE_*
};
FITS(cdg);

// Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003.
ALWAYS_INLINE u32 next_chance(struct cdg *cdg)
{
	u32 x = cdg->chance;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	cdg->chance = x;
	return x;
}

// exp(-gradient / G) in units of 1 / POWER_ONE.
ALWAYS_INLINE u32 decay(u32 gradient_us)
{
	u64 exponent = (u64)gradient_us * 94548 / SCALE_US; // log2(e) = 94548 / POWER_ONE
	u32 part = exponent % POWER_ONE;
	u64 whole = exponent >> POWER_SHIFT;

	if (whole >= EXPONENT_MOST)
		return 0;
	return power_of_two(POWER_ONE - part) >> 1 >> whole;
}

// Falls with probability 1 - exp(-gradient / G).
ALWAYS_INLINE int is_to_fall(struct cdg *cdg, u32 gradient_us)
{
	return next_chance(cdg) % POWER_ONE >= decay(gradient_us);
}

// Puts the latest in the place of the oldest; the sum of all. The kernel's verifier wants to know every place.
ALWAYS_INLINE s32 sum_with(s32 *gradients, s32 latest)
{
	s32 sum = latest;

#pragma GCC unroll 8
	for (u32 place = 0; place + 1 < SAMPLES; place++) {
		gradients[place] = gradients[place + 1];
		sum += gradients[place];
	}
	gradients[SAMPLES - 1] = latest;
	return sum;
}

// What the paper takes as the rise: that of the smallest round trip before that of the largest; in slow start, which has no time
// for averages, each by itself first. 0 without one.
ALWAYS_INLINE u32 rise_of(int is_starting, s32 smallest, s32 largest, s32 smallest_sum, s32 largest_sum)
{
	if (is_starting && smallest > 0)
		return smallest;
	if (smallest_sum > 0)
		return (u32)smallest_sum / SAMPLES;
	if (is_starting && largest > 0)
		return largest;
	return largest_sum > 0 ? (u32)largest_sum / SAMPLES : 0;
}

ALWAYS_INLINE void judge_queue(struct cdg *cdg, s32 smallest_sum, s32 largest_sum)
{
	if (smallest_sum > 0 && largest_sum <= 0)
		cdg->queue = QUEUE_FULL;
	else if (smallest_sum >= 0 && largest_sum < 0)
		cdg->queue = QUEUE_EMPTY;
	else if (smallest_sum && largest_sum)
		cdg->queue = QUEUE_MOVING;
	if (cdg->queue == QUEUE_EMPTY)
		cdg->shadow = 0;
	if (smallest_sum < 0 || largest_sum < 0)
		cdg->rises = 0;
}

// Answers a rise, unless answers have been without effect. The round after it tells nothing yet.
ALWAYS_INLINE void answer(struct cdg *cdg, struct tcp_sock *tp)
{
	cdg->rises += 1;
	cdg->shadow = larger(cdg->shadow, tp->snd_cwnd);
	if (cdg->rises <= USELESS) {
		tp->snd_ssthresh = larger(tp->snd_cwnd * KEPT / OF, MINIMUM_WINDOW);
		tp->snd_cwnd = tp->snd_ssthresh;
	} else if (cdg->rises >= USELESS + HOLD) {
		cdg->rises = 0;
	}
	cdg->smallest_us = NO_ROUND_TRIP;
	cdg->largest_us = 0;
}

// Whether the window fell.
ALWAYS_INLINE int take_gradients(struct cdg *cdg, struct tcp_sock *tp)
{
	s32 smallest = cdg->smallest_us - cdg->smallest_before_us, largest = cdg->largest_us - cdg->largest_before_us;
	s32 smallest_sum = sum_with(cdg->smallest_gradients, smallest);
	s32 largest_sum = sum_with(cdg->largest_gradients, largest);
	u32 rise = rise_of(is_in_slow_start(tp), smallest, largest, smallest_sum, largest_sum);

	judge_queue(cdg, smallest_sum, largest_sum);
	if (rise == 0 || !is_to_fall(cdg, rise))
		return 0;
	answer(cdg, tp);
	return 1;
}

// In the queue's own time, once for each round: a packet more, or a fall.
ALWAYS_INLINE void end_round(struct cdg *cdg, struct tcp_sock *tp)
{
	int has_sample = cdg->largest_us != 0, has_gradient = has_sample && cdg->largest_before_us != 0;
	int has_fallen = has_gradient && take_gradients(cdg, tp);

	if (!has_fallen && !is_in_slow_start(tp) && is_in_use(tp)) {
		u32 none = 0;

		grow(tp, &none, PACKET);
		cdg->shadow += cdg->shadow ? 1 : 0;
	}
	cdg->smallest_before_us = cdg->smallest_us;
	cdg->largest_before_us = cdg->largest_us;
	cdg->smallest_us = NO_ROUND_TRIP;
	cdg->largest_us = 0;
}

SECTION("struct_ops") void cdg_init(u64 *arguments)
{
	const struct tcp_sock *tp = TCP(arguments);
	struct cdg *cdg = STATE(cdg, arguments);

	for (u32 place = 0; place < SAMPLES; place++) {
		cdg->smallest_gradients[place] = 0;
		cdg->largest_gradients[place] = 0;
	}
	cdg->smallest_us = cdg->smallest_before_us = NO_ROUND_TRIP;
	cdg->largest_us = cdg->largest_before_us = 0;
	cdg->round_end = tp->snd_nxt;
	cdg->shadow = tp->snd_cwnd;
	cdg->chance = (tp->snd_una ^ (u32)tp->tcp_mstamp) | 1;
	cdg->rises = 0;
	cdg->queue = QUEUE_UNKNOWN;
}

SECTION("struct_ops") void cdg_pkts_acked(u64 *arguments)
{
	struct cdg *cdg = STATE(cdg, arguments);
	u32 round_trip_us = round_trip_of(arguments);

	if (round_trip_us == NO_ROUND_TRIP)
		return;
	cdg->smallest_us = smaller(cdg->smallest_us, round_trip_us);
	cdg->largest_us = larger(cdg->largest_us, round_trip_us);
}

SECTION("struct_ops") void cdg_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct cdg *cdg = STATE(cdg, arguments);
	u32 before = tp->snd_cwnd;

	left_by_slow_start(tp, arguments[2]);
	cdg->shadow += cdg->shadow ? tp->snd_cwnd - before : 0;
	if (is_round_over(tp, &cdg->round_end))
		end_round(cdg, tp);
}

// A loss while the queue is not full tells nothing of congestion.
SECTION("struct_ops") u32 cdg_ssthresh(u64 *arguments)
{
	struct cdg *cdg = STATE(cdg, arguments);
	u32 window = TCP(arguments)->snd_cwnd;

	if (cdg->queue != QUEUE_FULL && cdg->queue != QUEUE_UNKNOWN)
		return larger(window, MINIMUM_WINDOW);
	cdg->shadow /= 2;
	return larger(larger(cdg->shadow, window / 2), MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 cdg_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_cdg = {
	.init = (void *)cdg_init,
	.ssthresh = (void *)cdg_ssthresh,
	.cong_avoid = (void *)cdg_cong_avoid,
	.pkts_acked = (void *)cdg_pkts_acked,
	.undo_cwnd = (void *)cdg_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_cdg",
};
