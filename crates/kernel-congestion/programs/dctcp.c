// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Data Center TCP: RFC 8257; M. Alizadeh and others, "Data center TCP (DCTCP)", SIGCOMM 2010. Both ends need it: the
// receiver echoes each mark (section 3.2), the sender answers in proportion to them (section 3.3).

#include "kernel.h"

enum { ONE = 1 << 20 };     // alpha = 1
enum { GAIN_SHIFT = 4 };    // g = 1/16 (section 4.2)
enum { MINIMUM_WINDOW = 2 };

struct dctcp {
	u32 alpha;             // DCTCP.Alpha, in units of 1 / ONE
	u32 bytes_acked;       // DCTCP.BytesAcked
	u32 bytes_marked;      // DCTCP.BytesMarked
	u32 window_end;        // DCTCP.WindowEnd
	u32 last_acknowledged; // SND.UNA at the last acknowledgement
	u32 last_received;     // RCV.NXT at the last arrival
	u32 has_congestion;    // DCTCP.CE
};

ALWAYS_INLINE struct dctcp *state_of(u64 *arguments)
{
	return (struct dctcp *)CONNECTION(arguments)->icsk_ca_priv;
}

// M = BytesMarked / BytesAcked; Alpha = Alpha (1 - g) + g M (section 3.3, items 5 and 6).
ALWAYS_INLINE u32 next_alpha(const struct dctcp *dctcp)
{
	u32 marked = (u64)dctcp->bytes_marked * ONE / dctcp->bytes_acked;

	return dctcp->alpha - (dctcp->alpha >> GAIN_SHIFT) + (marked >> GAIN_SHIFT);
}

ALWAYS_INLINE void begin_window(struct dctcp *dctcp, const struct tcp_sock *tp)
{
	dctcp->window_end = tp->snd_nxt;
	dctcp->bytes_acked = 0;
	dctcp->bytes_marked = 0;
}

SECTION("struct_ops") void dctcp_init(u64 *arguments)
{
	const struct tcp_sock *tp = TCP(arguments);
	struct dctcp *dctcp = state_of(arguments);

	dctcp->alpha = ONE; // section 4.2: the first mark halves
	dctcp->last_acknowledged = tp->snd_una;
	dctcp->last_received = tp->rcv_nxt;
	dctcp->has_congestion = 0;
	begin_window(dctcp, tp);
}

SECTION("struct_ops") void dctcp_in_ack_event(u64 *arguments)
{
	const struct tcp_sock *tp = TCP(arguments);
	struct dctcp *dctcp = state_of(arguments);
	u32 acknowledged = tp->snd_una - dctcp->last_acknowledged;

	dctcp->last_acknowledged = tp->snd_una;
	dctcp->bytes_acked += acknowledged;
	if (arguments[1] & ACKNOWLEDGEMENT_HAS_ECE)
		dctcp->bytes_marked += acknowledged;
	if (!is_after(tp->snd_una, dctcp->window_end))
		return;
	if (dctcp->bytes_acked)
		dctcp->alpha = next_alpha(dctcp);
	begin_window(dctcp, tp);
}

// cwnd (1 - Alpha / 2), at most once for each window of data, which the kernel sees to (section 3.3, item 9).
SECTION("struct_ops") u32 dctcp_ssthresh(u64 *arguments)
{
	u32 window = TCP(arguments)->snd_cwnd;
	u32 reduction = (u64)window * state_of(arguments)->alpha / (2 * ONE);

	if (!(TCP(arguments)->ecn_flags & ECN_NEGOTIATED))
		return tcp_reno_ssthresh(SOCKET(arguments));
	return larger(window - reduction, MINIMUM_WINDOW);
}

// Loss is answered as by any TCP, not in proportion (section 3.5).
ALWAYS_INLINE void halve(struct tcp_sock *tp)
{
	tp->snd_ssthresh = larger(tp->snd_cwnd / 2, MINIMUM_WINDOW);
}

SECTION("struct_ops") void dctcp_set_state(u64 *arguments)
{
	if (arguments[1] == STATE_RECOVERY)
		halve(TCP(arguments));
}

// The acknowledgement that waits tells what was before this arrival: it leaves now, with the echo as it was (section 3.2).
ALWAYS_INLINE void flush_acknowledgement(u64 *arguments, u32 last_received)
{
	if (CONNECTION(arguments)->icsk_ack.pending & ACK_TIMER)
		send_acknowledgement(TCP(arguments), last_received);
}

// A packet arrived with CE or without: DCTCP.CE follows, and each change is told at once (section 3.2).
ALWAYS_INLINE void note_arrival(u64 *arguments, u32 has_congestion)
{
	struct tcp_sock *tp = TCP(arguments);
	struct dctcp *dctcp = state_of(arguments);

	if (dctcp->has_congestion != has_congestion) {
		flush_acknowledgement(arguments, dctcp->last_received);
		CONNECTION(arguments)->icsk_ack.pending |= ACK_NOW;
	}
	dctcp->has_congestion = has_congestion;
	dctcp->last_received = tp->rcv_nxt;
	if (has_congestion)
		tp->ecn_flags |= ECN_ECHO;
	else
		tp->ecn_flags &= ~ECN_ECHO;
}

SECTION("struct_ops") void dctcp_cwnd_event(u64 *arguments)
{
	if (arguments[1] == EVENT_ECN_IS_CE)
		note_arrival(arguments, 1);
	else if (arguments[1] == EVENT_ECN_NO_CE)
		note_arrival(arguments, 0);
	else if (arguments[1] == EVENT_LOSS)
		halve(TCP(arguments));
}

SECTION("struct_ops") void dctcp_cong_avoid(u64 *arguments)
{
	tcp_reno_cong_avoid(SOCKET(arguments), arguments[1], arguments[2]);
}

SECTION("struct_ops") u32 dctcp_undo_cwnd(u64 *arguments)
{
	return tcp_reno_undo_cwnd(SOCKET(arguments));
}

SECTION(".struct_ops.link")
struct tcp_congestion_ops tw_dctcp = {
	.init = (void *)dctcp_init,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = CONG_NON_RESTRICTED | CONG_NEEDS_ECN,
	.name = "tw_dctcp",
};
