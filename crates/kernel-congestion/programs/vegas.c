// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// TCP Vegas: L. Brakmo and L. Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet", IEEE Journal on
// Selected Areas in Communications 13(8), 1995; sections 3.2 (congestion avoidance) and 3.3 (slow start). Recovery from
// loss (section 3.1) is the kernel's own.

#include "kernel.h"

// Packets that a flow keeps in queues: between ALPHA and BETA (the paper's "Vegas-2,4"); GAMMA ends slow start.
enum { ALPHA = 2, BETA = 4, GAMMA = 1 };
enum { MINIMUM_WINDOW = 2, NO_ROUND_TRIP = 0x7fffffff };

struct vegas {
	u32 base_us;   // BaseRTT: the smallest round trip so far
	u32 round_us;  // the smallest of this round: delayed acknowledgements and bursts only ever add
	u32 round_end; // the round ends when this byte is acknowledged
	u32 is_growing; // slow start grows in every other round
};

ALWAYS_INLINE struct vegas *state_of(u64 *arguments)
{
	return (struct vegas *)CONNECTION(arguments)->icsk_ca_priv;
}

ALWAYS_INLINE void begin_round(struct vegas *vegas, const struct tcp_sock *tp)
{
	vegas->round_us = NO_ROUND_TRIP;
	vegas->round_end = tp->snd_nxt;
}

// Diff times BaseRTT, in packets: (window / BaseRTT - window / RTT) BaseRTT, with RTT > 0.
ALWAYS_INLINE u32 packets_in_queues(const struct vegas *vegas, u32 window)
{
	return (u64)window * (vegas->round_us - vegas->base_us) / vegas->round_us;
}

// The window that would keep ALPHA packets in queues, at the rate that the last round saw.
ALWAYS_INLINE u32 window_at_alpha(const struct vegas *vegas, u32 window)
{
	return (u64)window * vegas->base_us / vegas->round_us + ALPHA;
}

ALWAYS_INLINE void leave_slow_start(struct tcp_sock *tp, const struct vegas *vegas)
{
	u32 window = larger(smaller(tp->snd_cwnd, window_at_alpha(vegas, tp->snd_cwnd)), MINIMUM_WINDOW);

	tp->snd_cwnd = window;
	tp->snd_ssthresh = larger(window - 1, MINIMUM_WINDOW);
}

ALWAYS_INLINE void avoid_congestion(struct tcp_sock *tp, u32 queued)
{
	int is_limited_by_window = tp->snd_cwnd <= tp->max_packets_out;

	if (queued > BETA && tp->snd_cwnd > MINIMUM_WINDOW)
		tp->snd_cwnd -= 1;
	else if (queued < ALPHA && is_limited_by_window && tp->snd_cwnd < tp->snd_cwnd_clamp)
		tp->snd_cwnd += 1;
}

ALWAYS_INLINE void end_round(struct vegas *vegas, struct tcp_sock *tp)
{
	int is_slow_start = tp->snd_cwnd < tp->snd_ssthresh;

	if (vegas->round_us != NO_ROUND_TRIP) {
		u32 queued = packets_in_queues(vegas, tp->snd_cwnd);

		if (!is_slow_start)
			avoid_congestion(tp, queued);
		else if (queued > GAMMA)
			leave_slow_start(tp, vegas);
	}
	vegas->is_growing = !vegas->is_growing;
	begin_round(vegas, tp);
}

SECTION("struct_ops") void vegas_init(u64 *arguments)
{
	struct vegas *vegas = state_of(arguments);

	vegas->base_us = NO_ROUND_TRIP;
	vegas->is_growing = 1;
	begin_round(vegas, TCP(arguments));
}

SECTION("struct_ops") void vegas_pkts_acked(u64 *arguments)
{
	struct vegas *vegas = state_of(arguments);
	s32 rtt_us = ((const struct ack_sample *)arguments[1])->rtt_us;

	if (rtt_us <= 0)
		return;
	vegas->base_us = smaller(vegas->base_us, rtt_us);
	vegas->round_us = smaller(vegas->round_us, rtt_us);
}

SECTION("struct_ops") void vegas_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct vegas *vegas = state_of(arguments);
	u32 acknowledged = arguments[2];

	if (is_after(tp->snd_una, vegas->round_end))
		end_round(vegas, tp);
	// Grows only when at least half of the window was in use (RFC 7661 section 4.3).
	if (tp->snd_cwnd < tp->snd_ssthresh && vegas->is_growing && tp->snd_cwnd < 2 * tp->max_packets_out)
		tcp_slow_start(tp, acknowledged);
}

// Round trips of a recovery tell nothing of the window.
SECTION("struct_ops") void vegas_set_state(u64 *arguments)
{
	if (arguments[1] == STATE_OPEN)
		begin_round(state_of(arguments), TCP(arguments));
}

// Nor do those of the time before a pause.
SECTION("struct_ops") void vegas_cwnd_event(u64 *arguments)
{
	if (arguments[1] == EVENT_TX_START || arguments[1] == EVENT_CWND_RESTART)
		begin_round(state_of(arguments), TCP(arguments));
}

SECTION("struct_ops") u32 vegas_ssthresh(u64 *arguments)
{
	return tcp_reno_ssthresh(SOCKET(arguments));
}

SECTION("struct_ops") u32 vegas_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_vegas = {
	.init = (void *)vegas_init,
	.ssthresh = (void *)vegas_ssthresh,
	.cong_avoid = (void *)vegas_cong_avoid,
	.pkts_acked = (void *)vegas_pkts_acked,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_vegas",
};
