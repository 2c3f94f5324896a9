// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// BIC-TCP: L. Xu, K. Harfoush and I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks", IEEE
// INFOCOM 2004. In each round trip the window goes half of the way to where the last loss was, by at most LARGEST packets, and
// beyond that ever faster away from it.

#include "window.h"

enum { LARGEST = 32 * PACKET, SMALLEST = PACKET / 100 }; // Smax and Smin
enum { LEGACY_WINDOW = 14 };                             // up to here as any TCP
enum { KEPT = 8, OF = 10 };                              // of the window after a loss

struct bic {
	u32 last_largest; // the window at the last loss; 0 before the first
	u32 fraction;
};
FITS(bic);

// Growth in this round trip, of a window (in packets / PACKET) below or above the last largest one.
ALWAYS_INLINE u64 growth_of_round(u64 window, u64 last_largest)
{
	u64 increment = window < last_largest ? (last_largest - window) / 2 : window - last_largest;

	if (increment > LARGEST)
		return LARGEST;
	return increment > SMALLEST ? increment : SMALLEST;
}

SECTION("struct_ops") void bic_init(u64 *arguments)
{
	STATE(bic, arguments)->last_largest = 0;
	STATE(bic, arguments)->fraction = 0;
}

SECTION("struct_ops") void bic_cong_avoid(u64 *arguments)
{
	struct tcp_sock *tp = TCP(arguments);
	struct bic *bic = STATE(bic, arguments);
	u32 acknowledged = left_by_slow_start(tp, arguments[2]);
	u64 window = (u64)tp->snd_cwnd * PACKET + bic->fraction;
	u64 growth = growth_of_round(window, (u64)bic->last_largest * PACKET);

	if (tp->snd_cwnd <= LEGACY_WINDOW)
		growth = PACKET;
	grow(tp, &bic->fraction, acknowledged * growth / tp->snd_cwnd);
}

// Fast convergence: who loses below its last largest window leaves room for others.
SECTION("struct_ops") u32 bic_ssthresh(u64 *arguments)
{
	struct bic *bic = STATE(bic, arguments);
	u32 window = TCP(arguments)->snd_cwnd;
	u32 kept = window <= LEGACY_WINDOW ? window / 2 : (u64)window * KEPT / OF;

	bic->last_largest = window < bic->last_largest ? (window + kept) / 2 : window;
	return larger(kept, MINIMUM_WINDOW);
}

SECTION("struct_ops") u32 bic_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_bic = {
	.init = (void *)bic_init,
	.ssthresh = (void *)bic_ssthresh,
	.cong_avoid = (void *)bic_cong_avoid,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = CONG_NON_RESTRICTED,
	.name = "tw_bic",
};
