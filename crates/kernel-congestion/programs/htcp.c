// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// H-TCP: D. Leith and R. Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004, and
// draft-leith-tcp-htcp-06. The longer the time since the last loss, the faster the window grows; a loss leaves the part of it that
// keeps the link busy while the queue empties.

#include "rate.h"

enum { LOW_SPEED_US = 1000000 }; // after a loss as any TCP for so long (Delta_L)
enum { TIME_MOST_US = 100000000 };
enum { BETA_ONE = 1024, BETA_SMALLEST = BETA_ONE / 2, BETA_LARGEST = BETA_ONE * 8 / 10 };

struct htcp {
	struct rate_meter meter;
	u64 loss_us;             // when the last loss was
	u64 rate, rate_before; // of the last round; of that before the last loss
	u32 base_us, longest_us; // the smallest round trip so far; the largest since the last loss
	u32 beta;                // in units of 1 / BETA_ONE
	u32 fraction;
};
FITS(htcp);

// PACKET (1 + 10 (D - 1 s) + ((D - 1 s) / 2)^2) in seconds.
ALWAYS_INLINE u64 growth_after(u64 since_us)
{
	u64 beyond = since_us > LOW_SPEED_US ? since_us - LOW_SPEED_US : 0;
	u64 limited = beyond < TIME_MOST_US ? beyond : TIME_MOST_US;
	u64 milliseconds = limited / 1000;

	return PACKET + limited * 10 * PACKET / 1000000 + milliseconds * milliseconds * PACKET / 4000000;
}

// 2 (1 - beta) times that, so that losses are answered alike on the average.
ALWAYS_INLINE u64 alpha_of(const struct htcp *htcp, u64 now_us)
{
	return growth_after(now_us - htcp->loss_us) * 2 * (BETA_ONE - htcp->beta) / BETA_ONE;
}

// Whether the two differ by more than a fifth of the former.
ALWAYS_INLINE int has_changed(u64 before, u64 now)
{
	u64 difference = now > before ? now - before : before - now;

	return difference > before / 5;
}

ALWAYS_INLINE u32 beta_of(const struct htcp *htcp)
{
	u64 beta;

	if (htcp->longest_us == 0 || has_changed(htcp->rate_before, htcp->rate))
		return BETA_SMALLEST;
	beta = (u64)htcp->base_us * BETA_ONE / htcp->longest_us;
	if (beta < BETA_SMALLEST)
		return BETA_SMALLEST;
	return beta < BETA_LARGEST ? beta : BETA_LARGEST;
}

SECTION("struct_ops") void htcp_init(u64 *arguments)
{
	struct htcp *htcp = STATE(htcp, arguments);

	begin_metering(&htcp->meter, TCP(arguments));
	htcp->loss_us = TCP(arguments)->tcp_mstamp;
	htcp->rate = 0;
	htcp->rate_before = 0;
	htcp->base_us = NO_ROUND_TRIP;
	htcp->longest_us = 0;
	htcp->beta = BETA_SMALLEST;
	htcp->fraction = 0;
}

SECTION("struct_ops") void htcp_pkts_acked(u64 *arguments)
{
	struct htcp *htcp = STATE(htcp, arguments);
	u64 rate = rate_of_round(&htcp->meter, TCP(arguments));
	u32 round_trip_us = round_trip_of(arguments);

	if (rate)
		htcp->rate = rate;
	if (round_trip_us == NO_ROUND_TRIP)
		return;
	htcp->base_us = smaller(htcp->base_us, round_trip_us);
	htcp->longest_us = larger(htcp->longest_us, round_trip_us);
}

SECTION("struct_ops") void htcp_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct htcp *htcp = STATE(htcp, arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);

	grow(tp, &htcp->fraction, acknowledged * alpha_of(htcp, tp->tcp_mstamp) / tp->snd_cwnd);
}

SECTION("struct_ops") u32 htcp_ssthresh(u64 *arguments)
{
	const struct tcp_sock *tp = TCP(arguments);
	struct htcp *htcp = STATE(htcp, arguments);

	htcp->beta = beta_of(htcp);
	htcp->loss_us = tp->tcp_mstamp;
	htcp->rate_before = htcp->rate;
	htcp->longest_us = 0;
	return larger((u64)tp->snd_cwnd * htcp->beta / BETA_ONE, MINIMUM_WINDOW);
}

// After a pause a round would count the pause as time of sending.
SECTION("struct_ops") void htcp_cwnd_event(u64 *arguments)
{
	if (arguments[1] == EVENT_TX_START)
		begin_metering(&STATE(htcp, arguments)->meter, TCP(arguments));
}

SECTION("struct_ops") u32 htcp_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_htcp = {
	.init = (void *)htcp_init,
	.ssthresh = (void *)htcp_ssthresh,
	.cong_avoid = (void *)htcp_cong_avoid,
	.pkts_acked = (void *)htcp_pkts_acked,
	.cwnd_event = (void *)htcp_cwnd_event,
	.undo_cwnd = (void *)htcp_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_htcp",
};
