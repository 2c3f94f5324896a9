// Drives one of the kernel's laws as the kernel does, in user space: LAW is its file, OPERATIONS its table of functions. Windows
// are packets, times microseconds; a packet has one byte.

#include LAW

u32 tcp_reno_ssthresh(struct sock *sk)
{
	(void)sk;
	return 0;
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	(void)sk, (void)ack, (void)acked;
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	(void)tp;
	return acked;
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	(void)sk;
	return 0;
}

static struct connection connection;
static struct tcp_sock *const tp = &connection.tcp;

static u64 call(void *function, u64 first, u64 second)
{
	u64 arguments[] = {(u64)&connection, first, second};

	return function ? ((u64(*)(u64 *))function)(arguments) : 0;
}

// All of the window is always on its way.
static u32 fill(void)
{
	tp->snd_nxt = tp->snd_una + tp->snd_cwnd;
	tp->max_packets_out = tp->snd_cwnd;
	return tp->snd_cwnd;
}

u32 start(u32 window, u32 threshold, u32 rtt_us)
{
	u32 first = tp->snd_una; // each connection begins with another number

	connection = (struct connection){0};
	tp->snd_una = first;
	tp->snd_cwnd = window;
	tp->snd_ssthresh = threshold;
	tp->snd_cwnd_clamp = ~0u;
	tp->srtt_us = 8 * rtt_us;
	tp->tcp_mstamp = 1000000;
	fill();
	call(OPERATIONS.init, 0, 0);
	return fill();
}

// `packets` that are acknowledged together after `rtt_us`, `later_us` after what was before.
u32 acknowledge(u32 packets, s32 rtt_us, u32 later_us)
{
	struct ack_sample sample = {.rtt_us = rtt_us};

	tp->tcp_mstamp += later_us;
	tp->snd_una += packets;
	tp->delivered += packets;
	call(OPERATIONS.in_ack_event, 0, 0);
	call(OPERATIONS.pkts_acked, (u64)&sample, 0);
	call(OPERATIONS.cong_avoid, tp->snd_una, packets);
	return fill();
}

// A loss, and the recovery from it at once.
u32 lose(void)
{
	tp->snd_ssthresh = (u32)call(OPERATIONS.ssthresh, 0, 0);
	call(OPERATIONS.set_state, STATE_RECOVERY, 0);
	tp->snd_cwnd = tp->snd_ssthresh;
	call(OPERATIONS.set_state, STATE_OPEN, 0);
	return tp->snd_cwnd;
}

u32 time_out(void)
{
	tp->snd_ssthresh = (u32)call(OPERATIONS.ssthresh, 0, 0);
	call(OPERATIONS.cwnd_event, EVENT_LOSS, 0);
	tp->snd_cwnd = 1;
	call(OPERATIONS.set_state, STATE_LOSS, 0);
	return tp->snd_ssthresh;
}

// What the application leaves of the window.
void use(u32 packets)
{
	tp->max_packets_out = packets;
}

u32 threshold(void)
{
	return tp->snd_ssthresh;
}

u32 pacing(void)
{
	return connection.sock.sk_pacing_status;
}
