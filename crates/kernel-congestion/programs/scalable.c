// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Scalable TCP: T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM SIGCOMM Computer
// Communication Review 33(2), 2003. The window grows by a = 0.01 for each packet and falls by b = 0.125, so that it is as
// before log(1 - b) / log(1 + a) = 13.4 round trips after a loss, whatever it is.

#include "window.h"

enum { PACKETS_FOR_ONE = 100, REDUCTION_SHIFT = 3 };
enum { LEGACY_WINDOW = 16 }; // up to here as any TCP

struct scalable {
	u32 fraction;
};
FITS(scalable);

SECTION("struct_ops") void scalable_init(u64 *arguments)
{
	STATE(scalable, arguments)->fraction = 0;
}

SECTION("struct_ops") void scalable_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);
	u64 increment = tp->snd_cwnd > LEGACY_WINDOW ? (u64)acknowledged * PACKET / PACKETS_FOR_ONE
						     : growth_of_reno(tp, acknowledged);

	grow(tp, &STATE(scalable, arguments)->fraction, increment);
}

SECTION("struct_ops") u32 scalable_ssthresh(u64 *arguments)
{
	u32 window = TCP(arguments)->snd_cwnd;
	u32 reduction = window > LEGACY_WINDOW ? window >> REDUCTION_SHIFT : window / 2;

	return larger(window - reduction, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 scalable_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_scalable = {
	.init = (void *)scalable_init,
	.ssthresh = (void *)scalable_ssthresh,
	.cong_avoid = (void *)scalable_cong_avoid,
	.undo_cwnd = (void *)scalable_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_scalable",
};
