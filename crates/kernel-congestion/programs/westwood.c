// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// TCP Westwood+: L. Grieco and S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
// congestion control", ACM SIGCOMM Computer Communication Review 34(2), 2004. Grows as any TCP. A loss leaves the packets that
// the path holds without a queue: the bandwidth, measured by what arrives in each round trip, times the smallest round trip.

#include "rate.h"

enum { GAIN_SHIFT = 3 }; // the filter keeps 7/8, twice

struct westwood {
	struct rate_meter meter;
	u64 filtered;  // once
	u64 bandwidth; // twice
	u32 base_us;   // the smallest round trip so far
	u32 fraction;
};
FITS(westwood);

ALWAYS_INLINE u64 filtered(u64 before, u64 sample)
{
	return before - (before >> GAIN_SHIFT) + (sample >> GAIN_SHIFT);
}

// In slow start the last sample alone: the filter would tell of windows of long ago.
ALWAYS_INLINE void take_sample(struct westwood *westwood, u64 sample, int is_alone)
{
	westwood->filtered = is_alone ? sample : filtered(westwood->filtered, sample);
	westwood->bandwidth = is_alone ? sample : filtered(westwood->bandwidth, westwood->filtered);
}

SECTION("struct_ops") void westwood_init(u64 *arguments)
{
	struct westwood *westwood = STATE(westwood, arguments);

	begin_metering(&westwood->meter, TCP(arguments));
	westwood->filtered = 0;
	westwood->bandwidth = 0;
	westwood->base_us = NO_ROUND_TRIP;
	westwood->fraction = 0;
}

// Also during recovery, where packets go on to arrive.
SECTION("struct_ops") void westwood_pkts_acked(u64 *arguments)
{
	struct westwood *westwood = STATE(westwood, arguments);
	u64 sample = rate_of_round(&westwood->meter, TCP(arguments));

	westwood->base_us = smaller(westwood->base_us, round_trip_of(arguments));
	if (sample)
		take_sample(westwood, sample, westwood->bandwidth == 0 || is_in_slow_start(TCP(arguments)));
}

// After a pause a round would count the pause as time of sending.
SECTION("struct_ops") void westwood_cwnd_event(u64 *arguments)
{
	if (arguments[1] == EVENT_TX_START)
		begin_metering(&STATE(westwood, arguments)->meter, TCP(arguments));
}

SECTION("struct_ops") void westwood_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);

	grow(tp, &STATE(westwood, arguments)->fraction, growth_of_reno(tp, acknowledged));
}

// Not above the window, which the kernel's recovery takes to what this says.
SECTION("struct_ops") u32 westwood_ssthresh(u64 *arguments)
{
	const struct westwood *westwood = STATE(westwood, arguments);
	u32 window = TCP(arguments)->snd_cwnd;
	u64 held = westwood->bandwidth * westwood->base_us >> RATE_SHIFT;

	if (westwood->bandwidth == 0)
		return larger(window / 2, MINIMUM_WINDOW);
	return larger(held < window ? held : window, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 westwood_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_westwood = {
	.init = (void *)westwood_init,
	.ssthresh = (void *)westwood_ssthresh,
	.cong_avoid = (void *)westwood_cong_avoid,
	.pkts_acked = (void *)westwood_pkts_acked,
	.cwnd_event = (void *)westwood_cwnd_event,
	.undo_cwnd = (void *)westwood_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_westwood",
};
