//! What the kernel can count of a program (`perf_event_open(2)`).

/// One counter, by the name that `perf list` gives it; `:u` behind it leaves out what the kernel does for the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    name: String,
    kind: u32,
    config: u64,
    user_only: bool,
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;
const RAW: u32 = 4;
/// Of a cache counter's configuration: cache | operation << 8 | result << 16, here a read that misses.
const READ_MISS: u64 = 1 << 16;

/// Names, types and configurations of `linux/perf_event.h`.
const KNOWN: [(&str, u32, u64); 22] = [
    ("cycles", HARDWARE, 0),
    ("instructions", HARDWARE, 1),
    ("cache-references", HARDWARE, 2),
    ("cache-misses", HARDWARE, 3),
    ("branches", HARDWARE, 4),
    ("branch-misses", HARDWARE, 5),
    ("bus-cycles", HARDWARE, 6),
    ("stalled-cycles-frontend", HARDWARE, 7),
    ("stalled-cycles-backend", HARDWARE, 8),
    ("ref-cycles", HARDWARE, 9),
    ("cpu-clock", SOFTWARE, 0),
    ("task-clock", SOFTWARE, 1),
    ("page-faults", SOFTWARE, 2),
    ("context-switches", SOFTWARE, 3),
    ("cpu-migrations", SOFTWARE, 4),
    ("minor-faults", SOFTWARE, 5),
    ("major-faults", SOFTWARE, 6),
    ("alignment-faults", SOFTWARE, 7),
    ("L1-dcache-load-misses", CACHE, READ_MISS),
    ("LLC-load-misses", CACHE, 2 | READ_MISS),
    ("dTLB-load-misses", CACHE, 3 | READ_MISS),
    ("iTLB-load-misses", CACHE, 4 | READ_MISS),
];

/// What happens in the kernel alone.
const KERNEL_ONLY: [&str; 2] = ["context-switches", "cpu-migrations"];

impl Counter {
    /// The counter of that name, such as `instructions`, `cycles:u`, or `r01c2` for what the processor's manual numbers so;
    /// None where there is no such name. What happens in the kernel alone has no part of the program's: its `:u` would be
    /// 0 whatever happens, and is no name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let plain = name.strip_suffix(":u").unwrap_or(name);
        let (kind, config) = match KNOWN.iter().find(|(known, ..)| *known == plain) {
            Some((_, kind, config)) => (*kind, *config),
            None => (RAW, raw(plain)?),
        };
        let user_only = plain.len() != name.len();
        let is_always_zero = user_only && KERNEL_ONLY.contains(&plain);
        (!is_always_zero).then(|| Self { name: name.to_owned(), kind, config, user_only })
    }

    /// The name that it was asked for by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names that are known beside raw ones.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, ..)| *name)
    }

    /// Type and configuration, as `perf_event_open(2)` has them.
    pub(crate) const fn numbers(&self) -> (u32, u64) {
        (self.kind, self.config)
    }

    /// Whether what the kernel does for the program is left out.
    pub(crate) const fn user_only(&self) -> bool {
        self.user_only
    }

    /// As the supervisor takes it: `TYPE:CONFIG:USER`.
    #[must_use]
    pub fn for_supervisor(&self) -> String {
        format!("{}:{}:{}", self.kind, self.config, u8::from(self.user_only))
    }
}

fn raw(name: &str) -> Option<u64> {
    let digits = name.strip_prefix('r')?;
    let is_raw =
        !digits.is_empty() && digits.len() < 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_raw { u64::from_str_radix(digits, 16).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_what_the_kernel_numbers() {
        let instructions = Counter::named("instructions:u").map(|counter| counter.for_supervisor());
        assert_eq!(instructions.as_deref(), Some("0:1:1"));
        assert_eq!(
            Counter::named("r01c2").map(|counter| counter.for_supervisor()).as_deref(),
            Some("4:450:0")
        );
        assert_eq!(Counter::named("LLC-load-misses").map(|counter| counter.config), Some(65538));
        for name in
            ["", "r", "rx", "instruction", "instructions:k", "r0123456789abcdef", "context-switches:u"]
        {
            assert_eq!(Counter::named(name), None, "{name}");
        }
        assert!(Counter::names().all(|name| Counter::named(name).is_some()));
    }
}
