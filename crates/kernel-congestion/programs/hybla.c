// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// TCP Hybla: C. Caini and R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
// Satellite Communications and Networking 22(5), 2004. A connection has the rate that one with a round trip of 25 ms would
// have: with rho = RTT / 25 ms, a packet adds 2^rho - 1 in slow start and rho^2 / W afterwards; first window and threshold are rho
// times as large, and packets are paced.

#include "power.h"
#include "window.h"

enum { REFERENCE_US = 25000, RHO_MOST = 64 };
// What the reference begins with: RFC 6928; RFC 2001's 65535 bytes. Without a threshold, 2^rho would know no end.
enum { REFERENCE_WINDOW = 10, REFERENCE_THRESHOLD = 45 };
enum { EXPONENT_MOST = 16 }; // more packets than any window has

struct hybla {
	u32 base_us; // the smallest round trip so far: that of the path, which no queue of this connection makes faster
	u32 rho;     // in units of 1 / POWER_ONE
	u32 fraction;
};
FITS(hybla);

ALWAYS_INLINE u32 rho_of(u32 round_trip_us)
{
	u64 rho = (u64)round_trip_us * POWER_ONE / REFERENCE_US;

	if (rho < POWER_ONE)
		return POWER_ONE;
	return rho < RHO_MOST * POWER_ONE ? rho : RHO_MOST * POWER_ONE;
}

// PACKET (2^rho - 1)
ALWAYS_INLINE u64 growth_of_slow_start(u32 rho)
{
	u32 whole = smaller(rho >> POWER_SHIFT, EXPONENT_MOST);
	u64 power = (u64)power_of_two(rho % POWER_ONE) << whole;

	return (power - POWER_ONE) * (PACKET / POWER_ONE);
}

// PACKET rho^2 / W
ALWAYS_INLINE u64 growth_of_avoidance(u32 rho, u32 window)
{
	return ((u64)rho * rho >> POWER_SHIFT) * (PACKET / POWER_ONE) / window;
}

ALWAYS_INLINE void take_round_trip(struct hybla *hybla, u32 round_trip_us)
{
	hybla->base_us = smaller(hybla->base_us, round_trip_us);
	if (hybla->base_us != NO_ROUND_TRIP)
		hybla->rho = rho_of(hybla->base_us);
}

// Where the handshake has told the round trip, and nothing is known of earlier connections.
ALWAYS_INLINE void begin_as_the_reference(struct tcp_sock *tp, u32 rho)
{
	tp->snd_cwnd = larger(tp->snd_cwnd, (u64)REFERENCE_WINDOW * rho >> POWER_SHIFT);
	if (tp->snd_ssthresh >= INFINITE_THRESHOLD)
		tp->snd_ssthresh = (u64)REFERENCE_THRESHOLD * rho >> POWER_SHIFT;
}

SECTION("struct_ops") void hybla_init(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct hybla *hybla = STATE(hybla, arguments);

	hybla->base_us = NO_ROUND_TRIP;
	hybla->rho = POWER_ONE;
	hybla->fraction = 0;
	if (tp->srtt_us)
		take_round_trip(hybla, tp->srtt_us / 8);
	begin_as_the_reference(tp, hybla->rho);
	if (SOCKET(arguments)->sk_pacing_status == PACING_NONE)
		SOCKET(arguments)->sk_pacing_status = PACING_NEEDED;
}

SECTION("struct_ops") void hybla_pkts_acked(u64 *arguments)
{
	take_round_trip(STATE(hybla, arguments), round_trip_of(arguments));
}

SECTION("struct_ops") void hybla_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct hybla *hybla = STATE(hybla, arguments);
	u32 acknowledged = arguments[2], threshold = tp->snd_ssthresh;
	int is_starting = is_in_slow_start(tp);
	u64 each = is_starting ? growth_of_slow_start(hybla->rho) : growth_of_avoidance(hybla->rho, tp->snd_cwnd);

	if (!is_in_use(tp))
		return;
	grow(tp, &hybla->fraction, acknowledged * each);
	if (is_starting && tp->snd_cwnd > threshold)
		tp->snd_cwnd = threshold;
}

SECTION("struct_ops") u32 hybla_ssthresh(u64 *arguments)
{
	return larger(TCP(arguments)->snd_cwnd / 2, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 hybla_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_hybla = {
	.init = (void *)hybla_init,
	.ssthresh = (void *)hybla_ssthresh,
	.cong_avoid = (void *)hybla_cong_avoid,
	.pkts_acked = (void *)hybla_pkts_acked,
	.undo_cwnd = (void *)hybla_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_hybla",
};
