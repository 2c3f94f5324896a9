// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// YeAH-TCP: A. Baiocchi, A. Castellani and F. Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007. While its queue is
// short, the window grows as Scalable TCP's (fast mode); otherwise as any TCP's (slow mode), and what is in the queue leaves it,
// unless that would lose against flows that fill the queue: then it keeps what any TCP would have.

#include "window.h"

enum { PACKETS_FOR_ONE = 100 }; // of Scalable TCP
enum { QUEUE_MOST = 80 };       // packets (Qmax)
enum { DELAY_SHIFT = 3 };       // 1/8 of the smallest round trip (1/phi)
enum { COMPETING_ROUNDS = 16 }; // in slow mode in a row: others fill the queue (rho)
enum { FREE_ROUNDS = 50 };      // in fast mode: they are gone (zeta)

struct yeah {
	u32 base_us;  // the smallest round trip so far
	u32 round_us; // of this round
	u32 round_end;
	u32 queued;       // packets in queues by the last round
	u32 is_slow;      // the mode
	u32 rounds_slow;  // rounds in slow mode, until a loss
	u32 rounds_fast;  // rounds in fast mode
	u32 reno_window;  // what any TCP would have
	u32 fraction;
};
FITS(yeah);

// Queueing delay times rate, with round_us > 0.
ALWAYS_INLINE u32 packets_in_queues(const struct yeah *yeah, u32 window)
{
	return (u64)window * (yeah->round_us - yeah->base_us) / yeah->round_us;
}

ALWAYS_INLINE int is_delay_long(const struct yeah *yeah)
{
	return yeah->round_us - yeah->base_us > yeah->base_us >> DELAY_SHIFT;
}

// At most half of the window goes, and nothing that any TCP would have.
ALWAYS_INLINE void decongest(struct yeah *yeah, struct tcp_sock *tp)
{
	u32 window = tp->snd_cwnd - smaller(yeah->queued, tp->snd_cwnd / 2);
	u32 kept = larger(larger(window, yeah->reno_window), MINIMUM_WINDOW);

	tp->snd_cwnd = smaller(kept, tp->snd_cwnd);
	tp->snd_ssthresh = tp->snd_cwnd;
}

ALWAYS_INLINE void be_slow(struct yeah *yeah, struct tcp_sock *tp)
{
	yeah->reno_window = yeah->reno_window ? yeah->reno_window + 1 : tp->snd_cwnd / 2;
	yeah->rounds_slow += 1;
	yeah->rounds_fast = 0;
	if (yeah->queued > QUEUE_MOST)
		decongest(yeah, tp);
}

ALWAYS_INLINE void be_fast(struct yeah *yeah)
{
	yeah->rounds_fast += 1;
	if (yeah->rounds_fast < FREE_ROUNDS)
		return;
	yeah->reno_window = 0;
	yeah->rounds_slow = 0;
}

ALWAYS_INLINE void end_round(struct yeah *yeah, struct tcp_sock *tp)
{
	if (yeah->round_us != NO_ROUND_TRIP) {
		yeah->queued = packets_in_queues(yeah, tp->snd_cwnd);
		yeah->is_slow = yeah->queued > QUEUE_MOST || is_delay_long(yeah);
		if (yeah->is_slow)
			be_slow(yeah, tp);
		else
			be_fast(yeah);
	}
	yeah->round_us = NO_ROUND_TRIP;
}

SECTION("struct_ops") void yeah_init(u64 *arguments)
{
	struct yeah *yeah = STATE(yeah, arguments);

	yeah->base_us = NO_ROUND_TRIP;
	yeah->round_us = NO_ROUND_TRIP;
	yeah->round_end = TCP(arguments)->snd_nxt;
	yeah->queued = 0;
	yeah->is_slow = 0;
	yeah->rounds_slow = 0;
	yeah->rounds_fast = 0;
	yeah->reno_window = 0;
	yeah->fraction = 0;
}

SECTION("struct_ops") void yeah_pkts_acked(u64 *arguments)
{
	struct yeah *yeah = STATE(yeah, arguments);
	u32 round_trip_us = round_trip_of(arguments);

	yeah->base_us = smaller(yeah->base_us, round_trip_us);
	yeah->round_us = smaller(yeah->round_us, round_trip_us);
}

SECTION("struct_ops") void yeah_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct yeah *yeah = STATE(yeah, arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);
	u64 scalable = (u64)acknowledged * PACKET / PACKETS_FOR_ONE;
	u64 reno = growth_of_reno(tp, acknowledged);

	grow(tp, &yeah->fraction, yeah->is_slow || reno > scalable ? reno : scalable);
	if (is_round_over(tp, &yeah->round_end))
		end_round(yeah, tp);
}

// Alone, what is in the queue and at least an eighth goes; with flows that fill the queue, half, as theirs.
SECTION("struct_ops") u32 yeah_ssthresh(u64 *arguments)
{
	struct yeah *yeah = STATE(yeah, arguments);
	u32 window = TCP(arguments)->snd_cwnd, half = window / 2;
	int is_competing = yeah->rounds_slow >= COMPETING_ROUNDS;
	u32 reduction = is_competing ? half : smaller(larger(window >> 3, yeah->queued), half);

	yeah->reno_window /= 2;
	yeah->rounds_fast = 0;
	yeah->rounds_slow = 0;
	return larger(window - reduction, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 yeah_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_yeah = {
	.init = (void *)yeah_init,
	.ssthresh = (void *)yeah_ssthresh,
	.cong_avoid = (void *)yeah_cong_avoid,
	.pkts_acked = (void *)yeah_pkts_acked,
	.undo_cwnd = (void *)yeah_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_yeah",
};
