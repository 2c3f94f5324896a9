// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What laws of the congestion window share. Windows are packets; what is less than a packet of growth is kept beside them.

#pragma once

#include "kernel.h"

enum { PACKET = 1 << 24 }; // one packet, in the units of growth
enum { MINIMUM_WINDOW = 2, NO_ROUND_TRIP = 0x7fffffff };

// A congestion control's own state; no law needs more than the kernel has room for.
#define STATE(law, arguments) ((struct law *)CONNECTION(arguments)->icsk_ca_priv)
#define FITS(law) _Static_assert(sizeof(struct law) <= sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv), "too large")

// A window of which less than half was in use does not grow (RFC 7661 section 4.3).
ALWAYS_INLINE int is_in_use(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < 2 * tp->max_packets_out;
}

ALWAYS_INLINE int is_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

// Adds `increment` / PACKET packets.
ALWAYS_INLINE void grow(struct tcp_sock *tp, u32 *fraction, u64 increment)
{
	u64 sum = *fraction + increment;
	u64 window = tp->snd_cwnd + sum / PACKET;

	*fraction = sum % PACKET;
	tp->snd_cwnd = window < tp->snd_cwnd_clamp ? window : tp->snd_cwnd_clamp;
}

// Slow start (RFC 5681 section 3.1) as far as the threshold; what it leaves of the packets `acknowledged`, or none of them while
// the window may not grow.
ALWAYS_INLINE u32 left_by_slow_start(struct tcp_sock *tp, u32 acknowledged)
{
	u32 room = is_in_slow_start(tp) ? smaller(tp->snd_ssthresh - tp->snd_cwnd, acknowledged) : 0;
	u32 none = 0;

	if (!is_in_use(tp))
		return 0;
	grow(tp, &none, (u64)room * PACKET);
	return acknowledged - room;
}

// One packet for each round trip, as any TCP (RFC 5681 section 3.1).
ALWAYS_INLINE u64 growth_of_reno(const struct tcp_sock *tp, u32 acknowledged)
{
	return (u64)acknowledged * PACKET / tp->snd_cwnd;
}

// Whether the round that ends with byte `round_end` is over; if so, another begins.
ALWAYS_INLINE int is_round_over(const struct tcp_sock *tp, u32 *round_end)
{
	if (!is_after(tp->snd_una, *round_end))
		return 0;
	*round_end = tp->snd_nxt;
	return 1;
}

// Microseconds that the acknowledged packet took; NO_ROUND_TRIP without a sample.
ALWAYS_INLINE u32 round_trip_of(const u64 *arguments)
{
	s32 rtt_us = ((const struct ack_sample *)arguments[1])->rtt_us;

	return rtt_us > 0 ? (u32)rtt_us : NO_ROUND_TRIP;
}
