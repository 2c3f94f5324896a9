// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// The rate at which packets arrive, once for each round trip.

#pragma once

#include "window.h"

enum { RATE_SHIFT = 32 }; // rates are packets for each 2^32 microseconds

struct rate_meter {
	u64 since_us;
	u32 delivered; // at that time
	u32 round_end;
};

ALWAYS_INLINE void begin_metering(struct rate_meter *meter, const struct tcp_sock *tp)
{
	meter->since_us = tp->tcp_mstamp;
	meter->delivered = tp->delivered;
	meter->round_end = tp->snd_nxt;
}

// The rate of the round that ends with this acknowledgement; 0 while it goes on.
ALWAYS_INLINE u64 rate_of_round(struct rate_meter *meter, const struct tcp_sock *tp)
{
	u64 elapsed = tp->tcp_mstamp - meter->since_us;
	u32 delivered = tp->delivered - meter->delivered;

	if (!is_after(tp->snd_una, meter->round_end) || elapsed == 0)
		return 0;
	begin_metering(meter, tp);
	return ((u64)delivered << RATE_SHIFT) / elapsed;
}
