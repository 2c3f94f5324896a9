#![allow(missing_docs, clippy::unwrap_used)]
mod support;
use support::*;
#[test]
fn explore() {
    let seconds: u64 = std::env::var("SECS").map_or(10, |s| s.parse().unwrap());
    let base = [("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50")];
    let deep = [("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=300")];
    let lossy = [("rate", "12Mbit/s"), ("delay", "28ms"), ("queue", "droptail:packets=50"), ("loss", "0.4%")];
    let short = [("rate", "50Mbit/s"), ("delay", "5ms"), ("queue", "droptail:packets=100"), ("loss", "0.4%")];
    let fast = [("rate", "100Mbit/s"), ("delay", "10ms"), ("queue", "droptail:packets=160")];
    let flows = [
        ("udp", "newreno"),
        ("tcp", "reno"),
        ("udp", "cubic"),
        ("tcp", "cubic"),
        ("udp", "copa"),
        ("udp", "ledbat"),
        ("tcp", "bbr"),
        ("udp", "fixed-rate:6Mbit/s"),
    ];
    for (name, pairs) in
        [("base", &base[..]), ("deep", &deep), ("lossy", &lossy), ("short", &short), ("fast", &fast)]
    {
        std::thread::scope(|scope| {
            for (p, c) in flows {
                scope.spawn(move || {
            let o = trial(pairs, 1, &[Flow::new(p,c)], seconds).unwrap();
            let e = seconds as f64;
            let s = o.summary(0);
            eprintln!("{name:6} {p} {c:18} {:7.3} Mbit/s p50 {:6.1} p95 {:6.1} ms dropped {} rtx {} to {} rtt {}/{} bottleneck {:?} cpu {:.3}", o.throughput(0, 2.0, e), o.delay(0,2.0,e,0.5), o.delay(0,2.0,e,0.95), o.report.forward.dropped.packets, s["retransmits"], s["timeouts"], s["rtt_min_ms"], s["rtt_mean_ms"], o.report.bottleneck(trialwise_emulator::LATENESS_BOUND).map(|b| b.to_string()), o.report.processor_share());
        });
            }
        });
    }
}
