// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What these programs name of the kernel, and nothing else. Names and types are the kernel's; where each field lies is
// looked up in the running kernel's BTF when a program is loaded (preserve_access_index), so order and size mean nothing here.

#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;

#define SECTION(name) __attribute__((section(name), used))
#define KERNEL_FUNCTION extern __attribute__((section(".ksyms")))
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
	int sk_rcvbuf;
	u32 sk_pacing_status; // PACING_* below
};

struct ack_sample {
	s32 rtt_us; // -1 without one
};

struct inet_connection_sock {
	struct {
		u8 pending; // ACK_* below
	} icsk_ack;
	u64 icsk_ca_priv[13]; // a congestion control's own
};

// Counts are packets, sequence numbers are bytes.
struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 max_packets_out; // most that were in flight during the last window
	u32 delivered;       // all that arrived so far
	u32 snd_nxt;
	u32 snd_una;
	u32 rcv_nxt;
	u32 srtt_us;    // eight times the smoothed round trip
	u64 tcp_mstamp; // of the last packet, microseconds
	u8 ecn_flags;   // ECN_* below
};

#pragma clang attribute pop

// The kernel's table of functions; libbpf matches the fields by name.
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *);
	void (*cong_avoid)(struct sock *, u32, u32);
	void (*set_state)(struct sock *, u8);
	void (*cwnd_event)(struct sock *, u32);
	void (*in_ack_event)(struct sock *, u32);
	void (*pkts_acked)(struct sock *, const struct ack_sample *);
	u32 (*undo_cwnd)(struct sock *);
	char name[16];
	u32 flags;
	void (*init)(struct sock *);
};

enum { CONG_NON_RESTRICTED = 1, CONG_NEEDS_ECN = 2 };
enum { STATE_OPEN = 0, STATE_RECOVERY = 3, STATE_LOSS = 4 };
enum { EVENT_TX_START = 0, EVENT_CWND_RESTART = 1, EVENT_LOSS = 3, EVENT_ECN_NO_CE = 4, EVENT_ECN_IS_CE = 5 };
enum { ACKNOWLEDGEMENT_HAS_ECE = 4 };
enum { ECN_NEGOTIATED = 1, ECN_ECHO = 4 };
enum { ACK_TIMER = 2, ACK_NOW = 16 };
enum { PACING_NONE = 0, PACING_NEEDED = 1 };
enum { INFINITE_THRESHOLD = 0x7fffffff };

// Functions of the kernel that congestion controls may call.
KERNEL_FUNCTION u32 tcp_reno_ssthresh(struct sock *sk);
KERNEL_FUNCTION void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
KERNEL_FUNCTION u32 tcp_reno_undo_cwnd(struct sock *sk);
KERNEL_FUNCTION u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
static long (*const send_acknowledgement)(void *tp, u32 rcv_nxt) = (void *)116; // bpf_tcp_send_ack

// Arguments come as an array of words. The kernel's three structures are one; tests of the laws in user space have three.
#ifdef __bpf__
#define SOCKET(arguments) ((struct sock *)(arguments)[0])
#define TCP(arguments) ((struct tcp_sock *)(arguments)[0])
#define CONNECTION(arguments) ((struct inet_connection_sock *)(arguments)[0])
#else
struct connection {
	struct sock sock;
	struct tcp_sock tcp;
	struct inet_connection_sock connection;
};
#define SOCKET(arguments) (&((struct connection *)(arguments)[0])->sock)
#define TCP(arguments) (&((struct connection *)(arguments)[0])->tcp)
#define CONNECTION(arguments) (&((struct connection *)(arguments)[0])->connection)
#endif

// Whether sequence number `a` comes after `b` (RFC 9293 section 3.4).
ALWAYS_INLINE int is_after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

ALWAYS_INLINE u32 smaller(u32 a, u32 b)
{
	return a < b ? a : b;
}

ALWAYS_INLINE u32 larger(u32 a, u32 b)
{
	return a > b ? a : b;
}

char LICENSE[] SECTION("license") = "Dual MIT/GPL";
