//! Real programs through `run`: how they start, end, print and leave things behind.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use trialwise_process::{Command, Counter, End, Error, Namespace, Outcome, Sink, run};

fn command(arguments: &[&str]) -> Command {
    Command::new(arguments).unwrap()
}

fn shell(script: &str) -> Command {
    Command { grace: Duration::from_millis(100), ..command(&["sh", "-c", script]) }
}

fn printed(outcome: &Outcome) -> &str {
    std::str::from_utf8(&outcome.stdout.bytes).unwrap()
}

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("trialwise-process-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str, mode: u32) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whether the process that wrote its number to `path` is gone (or a zombie of somebody's).
fn is_gone(path: &Path) -> bool {
    let process = fs::read_to_string(path).unwrap().trim().to_owned();
    assert!(process.parse::<u32>().unwrap() > 1);
    fs::read_to_string(format!("/proc/{process}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn what_a_program_does_is_measured() {
    let outcome =
        run(&command(&["sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.05"]))
            .unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.user > Duration::from_millis(20), "{outcome:?}");
    // `sleep` is a child that the shell waited for; its 50 ms pass on the wall clock only.
    assert!(outcome.wall >= Duration::from_millis(50) + outcome.user.mul_f64(0.5), "{outcome:?}");
    assert!(
        outcome.wall < Duration::from_secs(30) && outcome.minor_faults > 50 && outcome.voluntary_switches > 0
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    assert!((now - outcome.started_realtime_ns) < 60_000_000_000 && now > outcome.started_realtime_ns);
}

#[test]
fn exit_codes_and_signals_are_told_apart() {
    assert_eq!(run(&command(&["true"])).unwrap().end, End::Exited(0));
    assert_eq!(run(&shell("exit 143")).unwrap().end, End::Exited(143));
    assert_eq!(run(&shell("kill -TERM $$")).unwrap().end, End::Signalled(libc::SIGTERM));
    assert_eq!(run(&shell("kill -KILL $$")).unwrap().end, End::Signalled(libc::SIGKILL));
}

#[test]
fn memory_is_the_programs_and_not_the_callers() {
    let resident = vec![1_u8; 200 << 20];
    let small = run(&command(&["true"])).unwrap();
    assert!(small.max_rss_bytes < 20 << 20, "{small:?}");
    let large = run(&command(&["head", "-c", "0", "/dev/null"])).unwrap();
    assert!(large.max_rss_bytes > 0);
    let needs = run(&command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"])).unwrap();
    assert!((64 << 20..84 << 20).contains(&needs.max_rss_bytes), "{needs:?}");
    assert_eq!(resident.iter().map(|byte| usize::from(*byte)).sum::<usize>(), 200 << 20);
}

#[test]
fn environment_directory_and_arguments_are_exactly_those_given() {
    let mut env = command(&["/usr/bin/env"]);
    env.environment = vec![("A".into(), "1".into()), ("B".into(), "two words".into())];
    assert_eq!(printed(&run(&env).unwrap()), "A=1\nB=two words\n");
    let folder = Folder::new("directory");
    let mut pwd = shell("pwd -P; cat; printf '<%s>' \"$@\"");
    pwd.arguments.extend(["zero".into(), "".into(), "a b".into(), "é".into()]);
    pwd.working_directory = folder.0.clone();
    pwd.stdin = Some(folder.file("input", "from a file\n", 0o644));
    let expected = format!("{}\nfrom a file\n<><a b><é>", folder.0.canonicalize().unwrap().display());
    assert_eq!(printed(&run(&pwd).unwrap()), expected);
}

#[test]
fn the_program_inherits_no_descriptor_and_no_blocked_or_ignored_signal() {
    let stray = fs::File::open("/dev/zero").unwrap();
    // SAFETY: fcntl on a file of ours.
    let copy = unsafe { libc::fcntl(stray.as_raw_fd(), libc::F_DUPFD, 50) };
    assert!(copy >= 50);
    let outcome =
        run(&shell("ls /proc/self/fd | tr '\\n' ' '; grep -E 'Sig(Blk|Ign)' /proc/self/status")).unwrap();
    let lines = printed(&outcome);
    assert!(lines.starts_with("0 1 2 3 SigBlk"), "{lines}");
    assert_eq!(lines.matches("0000000000000000").count(), 2, "{lines}");
}

#[test]
fn the_program_is_searched_in_the_childs_path() {
    let folder = Folder::new("search");
    folder.file("tool", "#!/bin/sh\necho found $0\n", 0o755);
    folder.file("plain", "echo no first line: $1\n", 0o755);
    folder.file("data", "not a program", 0o644);
    folder.file("orphan", "#!/no/such/interpreter\n", 0o755);
    let with_path = |path: &str, arguments: &[&str]| {
        let mut command = command(arguments);
        command.environment = vec![("PATH".into(), path.into())];
        command.working_directory = folder.0.clone();
        run(&command)
    };
    let own = format!("/nowhere:{}:/usr/bin:/bin", folder.0.display());
    assert_eq!(printed(&with_path(&own, &["tool"]).unwrap()), format!("found {}/tool\n", folder.0.display()));
    assert_eq!(printed(&with_path(":/nowhere", &["tool"]).unwrap()), "found tool\n");
    assert_eq!(printed(&with_path("/nowhere", &["./tool"]).unwrap()), "found ./tool\n");
    assert_eq!(printed(&with_path(&own, &["plain", "x"]).unwrap()), "no first line: x\n");
    assert!(matches!(with_path("/nowhere", &["tool"]), Err(Error::NoSuchProgram { .. })));
    assert!(matches!(with_path(&own, &["data"]), Err(Error::NotExecutable { .. })));
    assert!(matches!(with_path(&own, &["orphan"]), Err(Error::NoInterpreter { .. })));
    assert!(matches!(with_path(&own, &["/usr"]), Err(Error::NotExecutable { .. })));
    assert!(matches!(with_path(&own, &[""]), Err(Error::NoSuchProgram { .. })));
}

#[test]
fn what_keeps_a_program_from_starting_is_named_with_its_number() {
    let check = |change: &dyn Fn(&mut Command), reason: &str, errno: i32| {
        let mut command = command(&["true"]);
        change(&mut command);
        let error = run(&command).unwrap_err();
        assert_eq!((error.reason(), error.errno()), (reason, errno), "{error}");
    };
    check(&|c| c.arguments.clear(), "bad_command", libc::EINVAL);
    check(&|c| c.arguments.push("a\0b".into()), "bad_command", libc::EINVAL);
    check(&|c| c.arguments[0] = "a\0b".into(), "bad_command", libc::EINVAL);
    check(&|c| c.environment.push(("A=B".into(), "".into())), "bad_command", libc::EINVAL);
    check(&|c| c.arguments[0] = "trialwise-no-such-program".into(), "no_such_program", libc::ENOENT);
    check(&|c| c.working_directory = "/no/such/folder".into(), "working_directory", libc::ENOENT);
    check(&|c| c.working_directory = "/etc/passwd".into(), "working_directory", libc::ENOTDIR);
    check(&|c| c.stdin = Some("/no/such/file".into()), "stdin", libc::ENOENT);
    check(&|c| c.stdout.file = Some("/no/such/folder/out".into()), "output_file", libc::ENOENT);
    check(&|c| c.cpus = vec![1_000_000], "cpus", libc::EINVAL);
}

#[test]
fn ten_thousand_arguments_arrive_and_too_many_are_refused() {
    let mut many = shell("echo $#; shift 9998; echo $1");
    many.arguments.extend((0..10_000).map(|index| index.to_string().into()));
    assert_eq!(printed(&run(&many).unwrap()), "9999\n9999\n");
    let mut long = command(&["true"]);
    long.arguments.push("x".repeat(200_000).into()); // one string over 128 KiB (MAX_ARG_STRLEN)
    assert!(matches!(run(&long), Err(Error::TooLong { .. })));
    long.arguments = (0..100_000).map(|_| "x".repeat(100).into()).collect();
    long.arguments[0] = "true".into();
    assert!(matches!(run(&long), Err(Error::TooLong { strings, .. }) if strings >= 100_000));
}

#[test]
fn a_program_runs_on_the_cpus_given() {
    let mut bound = command(&["grep", "Cpus_allowed_list", "/proc/self/status"]);
    bound.cpus = vec![0];
    assert_eq!(printed(&run(&bound).unwrap()).split_whitespace().last(), Some("0"));
}

#[test]
fn counters_count_the_program_and_what_it_starts_and_nothing_else() {
    let counted = |script: &str| {
        let mut counting = shell(script);
        counting.counters = ["task-clock", "context-switches", "page-faults:u"]
            .map(|name| Counter::named(name).unwrap())
            .to_vec();
        run(&counting).unwrap()
    };
    let outcome = counted(
        "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; (i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done)",
    );
    let values: Vec<f64> = outcome.counted.iter().map(|each| each.value.unwrap_or(f64::NAN)).collect();
    if values[0].is_nan() {
        return; // this kernel lets nobody count
    }
    let used = (outcome.user + outcome.system).as_nanos() as f64;
    assert!((values[0] / used - 1.0).abs() < 0.25, "task-clock {} of {used} ns", values[0]);
    assert!(
        values[1] <= (outcome.voluntary_switches + outcome.involuntary_switches + 2) as f64,
        "{values:?}"
    );
    assert!(values[2] <= (outcome.minor_faults + outcome.major_faults) as f64, "{values:?}");
    let idle = counted("sleep 0.2");
    let [clock, share] = [idle.counted[0].value.unwrap(), idle.counted[0].share];
    assert!(clock < 1e8 && (share - 1.0).abs() < 1e-9, "{clock} ns while it slept");
}

#[test]
fn a_counter_that_is_not_there_is_told_and_does_no_harm() {
    let mut counting = command(&["true"]);
    counting.counters = ["rffffffffff", "task-clock"].map(|name| Counter::named(name).unwrap()).to_vec();
    let outcome = run(&counting).unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    assert!(outcome.counted[0].value.is_err(), "{:?}", outcome.counted);
    assert!(run(&command(&["true"])).unwrap().counted.is_empty());
    counting.counters = vec![Counter::named("task-clock").unwrap(); 17];
    assert_eq!(run(&counting).unwrap_err().reason(), "bad_command");
}

#[test]
fn an_isolated_program_has_a_loopback_and_nothing_of_others() {
    let mut alone = shell(
        "cat /proc/net/dev | wc -l; cat /proc/sysvipc/shm | wc -l; id -u; readlink /proc/self/ns/net; cat /proc/net/if_inet6",
    );
    alone.isolate = vec![Namespace::Network, Namespace::Ipc];
    let lines = match run(&alone) {
        Err(Error::Namespace { .. }) => return, // this machine lets nobody have one
        outcome => printed(&outcome.unwrap()).to_owned(),
    };
    let lines: Vec<&str> = lines.lines().collect();
    // SAFETY: geteuid only answers.
    let user = unsafe { libc::geteuid() }.to_string();
    assert_eq!(lines[..3], ["3", "1", user.as_str()], "two lines of heading and lo; one of heading");
    assert_ne!(lines[3], fs::read_link("/proc/self/ns/net").unwrap().to_string_lossy());
    assert!(lines[4].ends_with("lo"), "{lines:?}: the loopback has an address only when it is up");
}

#[test]
fn a_program_enters_the_namespaces_of_a_process_and_leaves_no_orphan_there() {
    let mut unshare = std::process::Command::new("unshare")
        .args([
            "--map-root-user",
            "--mount",
            "--pid",
            "--ipc",
            "--uts",
            "--fork",
            "--kill-child",
            "--mount-proc",
        ])
        .args(["sh", "-c", "mount -t tmpfs tmpfs /tmp && echo ready && trap '' CHLD && exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = [0; 6];
    if unshare.stdout.as_mut().unwrap().read_exact(&mut said).is_err() {
        unshare.wait().unwrap();
        return; // this machine lets nobody have one
    }
    let id = unshare.id();
    let first = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    let mut inside = shell(
        "ls /tmp | wc -l; touch /tmp/left; setsid sleep 7654 & setsid sleep 7654 & sleep 0.2; set -- /proc/[0-9]*; echo $#",
    );
    inside.inside = Some(first.trim().parse().unwrap());
    inside.working_directory = "/".into(); // this folder may lie below /tmp, which is another one there
    let outcome = run(&inside).unwrap();
    assert_eq!(printed(&outcome), "0\n4\n", "cat, sh and two sleeps");
    assert_eq!(outcome.leftover_processes, 2);
    let again = run(&inside).unwrap();
    assert!(printed(&again).starts_with("1\n") && again.end == End::Exited(0), "{again:?}");
    drop(unshare.stdin.take());
    unshare.wait().unwrap();
    assert_eq!(run(&inside).unwrap_err().reason(), "namespace");
}

#[test]
fn a_timeout_asks_and_then_insists() {
    let timed = |script: &str, grace: u64| {
        let mut command = shell(script);
        command.timeout = Some(Duration::from_millis(1500)); // a shell has set its traps by then
        command.grace = Duration::from_millis(grace);
        run(&command).unwrap()
    };
    let asked = timed("exec sleep 60", 30_000);
    assert!(asked.timed_out && !asked.cancelled && asked.end == End::Signalled(libc::SIGTERM), "{asked:?}");
    assert!(asked.wall >= Duration::from_millis(1500) && asked.wall < Duration::from_secs(20), "{asked:?}");
    let polite = timed("trap 'echo saved; exit 7' TERM; sleep 60 & wait", 30_000);
    assert!(polite.timed_out && polite.end == End::Exited(7) && printed(&polite) == "saved\n", "{polite:?}");
    let deaf = timed("trap '' TERM; while :; do sleep 1; done", 200);
    assert!(deaf.timed_out && deaf.end == End::Signalled(libc::SIGKILL), "{deaf:?}");
    assert!(deaf.wall >= Duration::from_millis(1700) && deaf.wall < Duration::from_secs(20), "{deaf:?}");
    let stopped = timed("kill -STOP $$; echo never", 30_000);
    assert!(stopped.timed_out && stopped.end == End::Signalled(libc::SIGTERM), "{stopped:?}");
    assert!(stopped.wall < Duration::from_secs(20) && stopped.stdout.total == 0, "{stopped:?}");
    let in_time = timed("true", 100);
    assert!(!in_time.timed_out && in_time.end == End::Exited(0));
}

#[test]
fn a_readable_descriptor_abandons_the_run() {
    let (read, mut write) = std::io::pipe().unwrap();
    let folder = Folder::new("cancel");
    let begun = folder.0.join("begun");
    let mut command = shell("echo started; touch begun; exec sleep 60");
    command.working_directory = folder.0.clone();
    command.cancel = Some(read.as_raw_fd());
    let writer = std::thread::spawn(move || {
        while !begun.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        write.write_all(b"x").unwrap();
        write
    });
    let outcome = run(&command).unwrap();
    assert!(
        outcome.cancelled && !outcome.timed_out && outcome.end == End::Signalled(libc::SIGTERM),
        "{outcome:?}"
    );
    assert_eq!(printed(&outcome), "started\n");
    assert!(outcome.wall < Duration::from_secs(50), "{outcome:?}");
    let _still_readable = writer.join().unwrap();
    assert!(run(&command).unwrap().cancelled, "readable before the start");
}

#[test]
fn a_gibibyte_of_output_fills_neither_memory_nor_disk() {
    let folder = Folder::new("gibibyte");
    let mut command = command(&["sh", "-c", "head -c 1G /dev/zero; head -c 3M /dev/zero >&2"]);
    command.stdout.limit = 1000;
    command.stderr = Sink { limit: 2 << 20, file: Some(folder.0.join("stderr")) };
    let outcome = run(&command).unwrap();
    assert_eq!((outcome.stdout.bytes.len(), outcome.stdout.total), (1000, 1 << 30));
    assert_eq!((outcome.stderr.bytes.len(), outcome.stderr.total), (0, 3 << 20));
    assert_eq!(fs::metadata(folder.0.join("stderr")).unwrap().len(), 2 << 20);
    assert!(outcome.wall < Duration::from_secs(60), "{outcome:?}");
}

#[test]
fn output_arrives_whole_and_in_order() {
    let mut command = command(&["seq", "1", "500000"]);
    command.stdout.limit = 1 << 30;
    let outcome = run(&command).unwrap();
    let expected: String = (1..=500_000).map(|number| format!("{number}\n")).collect();
    assert!(printed(&outcome) == expected && outcome.stdout.total == expected.len() as u64);
}

#[test]
fn a_program_that_closes_its_outputs_is_awaited() {
    let outcome = run(&shell("echo before; exec >&- 2>&-; sleep 0.1; exit 3")).unwrap();
    assert_eq!((outcome.end, printed(&outcome)), (End::Exited(3), "before\n"));
    assert!(outcome.wall >= Duration::from_millis(100));
}

#[test]
fn what_a_program_leaves_behind_is_ended_and_counted() {
    let folder = Folder::new("leftover");
    let pid = folder.0.join("pid");
    let cases = [
        ("sleep 60 & echo $! > pid", 1),
        ("setsid sh -c 'echo $$ > pid; exec sleep 60' & while [ ! -s pid ]; do sleep 0.01; done", 1),
        ("(setsid sh -c 'sleep 61 & echo $! > pid; wait' &); while [ ! -s pid ]; do sleep 0.01; done", 2),
        (
            "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.05; done' & while [ ! -s pid ]; do sleep 0.01; done",
            1,
        ),
        ("env -i sleep 60 & echo $! > pid; kill -STOP $!", 1),
    ];
    for (script, least) in cases {
        let _ = fs::remove_file(&pid);
        let mut command = shell(script);
        command.working_directory = folder.0.clone();
        let begin = Instant::now();
        let outcome = run(&command).unwrap();
        assert_eq!(outcome.end, End::Exited(0), "{script}");
        assert!((least..=least + 1).contains(&outcome.leftover_processes), "{script}: {outcome:?}");
        assert_eq!(outcome.surviving_processes, 0);
        assert!(is_gone(&pid), "{script}");
        assert!(begin.elapsed() < Duration::from_secs(50), "{script}");
    }
    assert_eq!(run(&shell("sleep 0.01 & wait")).unwrap().leftover_processes, 0);
}

#[test]
fn a_timeout_ends_also_what_has_a_session_of_its_own() {
    let folder = Folder::new("session");
    let mut command = shell("setsid sh -c 'echo $$ > pid; exec sleep 60' & sleep 60");
    command.working_directory = folder.0.clone();
    command.timeout = Some(Duration::from_millis(1500)); // it has written its number by then
    assert!(run(&command).unwrap().timed_out);
    assert!(is_gone(&folder.0.join("pid")));
}

#[test]
fn signals_that_interrupt_the_caller_change_nothing() {
    extern "C" fn ignore(_: libc::c_int) {}
    // SAFETY: the handler does nothing; without SA_RESTART every blocking call returns EINTR.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore as *const () as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
    }
    // SAFETY: it only answers.
    let thread = unsafe { libc::pthread_self() } as usize;
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = stop.clone();
    let pest = std::thread::spawn(move || {
        while !seen.load(std::sync::atomic::Ordering::Relaxed) {
            // SAFETY: the thread that it names waits for this one.
            unsafe { libc::pthread_kill(thread as libc::pthread_t, libc::SIGUSR1) };
            std::thread::sleep(Duration::from_micros(300));
        }
    });
    let outcome = run(&shell("sleep 0.3; seq 1 100000")).unwrap();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    pest.join().unwrap();
    assert_eq!((outcome.end, outcome.stdout.total), (End::Exited(0), 588_895));
    assert!(outcome.wall >= Duration::from_millis(300));
}

#[test]
fn the_caller_sleeps_while_a_program_is_silent_and_seldom_wakes_for_lines() {
    let switches = || {
        // SAFETY: all-zero is a valid `rusage`, which the call fills.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is ours.
        assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) }, 0);
        usage.ru_nvcsw
    };
    let before = switches();
    run(&command(&["sleep", "0.5"])).unwrap();
    let silent = switches() - before;
    assert!(silent < 30, "{silent} wakes in half a second of silence");
    let before = switches();
    let chatty = run(&shell("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done")).unwrap();
    let woken = switches() - before;
    assert_eq!(chatty.stdout.total, 108_890);
    assert!(woken < 5_000, "{woken} wakes for 20000 lines in {:?}", chatty.wall);
}

#[test]
fn runs_side_by_side_do_not_touch_each_other() {
    let one = |index: usize| {
        let outcome = run(&shell(&format!("setsid sleep 60 & sleep 0.0{index}; echo {index}"))).unwrap();
        assert_eq!((outcome.end, outcome.leftover_processes), (End::Exited(0), 1));
        assert_eq!(printed(&outcome), format!("{index}\n"));
    };
    std::thread::scope(|scope| {
        for index in 0..8 {
            scope.spawn(move || one(index));
        }
    });
}

#[test]
fn the_callers_own_children_are_left_alone() {
    let mut own = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    assert_eq!(run(&shell("sleep 60 &")).unwrap().leftover_processes, 1);
    assert!(own.try_wait().unwrap().is_none());
    own.kill().unwrap();
    own.wait().unwrap();
}

#[test]
fn the_caller_keeps_no_descriptor_and_no_zombie() {
    let count = || fs::read_dir("/proc/self/fd").unwrap().count();
    let _ = run(&command(&["true"])).unwrap();
    // Other tests of this process open descriptors too: the smallest of several looks is ours.
    let before = (0..50).map(|_| count()).min().unwrap();
    for _ in 0..100 {
        run(&shell("exit 1")).unwrap();
        run(&command(&["no-such-program"])).unwrap_err();
    }
    let after = (0..50).map(|_| count()).min().unwrap();
    assert!(after < before + 100, "{before} descriptors became {after}");
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run() {
    let mut full = command(&["sh", "-c", "yes"]);
    full.stdout = Sink { limit: u64::MAX, file: Some("/dev/full".into()) };
    let begin = Instant::now();
    let error = run(&full).unwrap_err();
    assert_eq!(error.errno(), libc::ENOSPC, "{error}");
    assert!(begin.elapsed() < Duration::from_secs(8));
}

/// Whether the notes of a run name a file, in a note of this kind.
fn is_noted(outcome: &Outcome, kind: u8, part: &str) -> bool {
    let notes = outcome.followed.as_ref().unwrap();
    let mut at = 0;
    while at + 8 <= notes.len() {
        let length = u32::from_ne_bytes(notes[at + 4..at + 8].try_into().unwrap()) as usize;
        let content = String::from_utf8_lossy(&notes[at + 8..at + 8 + length]);
        if notes[at] == kind && content.contains(part) {
            return true;
        }
        at += 8 + length;
    }
    false
}

fn followed(script: &str) -> Command {
    Command { follow: true, ..shell(script) }
}

#[test]
fn what_a_program_starts_is_noted_when_it_is_followed() {
    let outcome =
        run(&followed("(exec sleep 0.01) | cat; setsid head -c 0 /dev/null & wait; exec true")).unwrap();
    assert_eq!(outcome.end, End::Exited(0));
    for program in ["sleep", "cat", "setsid", "head", "true"] {
        assert!(is_noted(&outcome, b'E', program), "{program}");
    }
    assert!(is_noted(&outcome, b'M', "libc"));
    assert!(run(&shell("true")).unwrap().followed.is_none());
}

#[test]
fn following_leaves_ends_signals_and_limits_as_they_are() {
    assert_eq!(run(&followed("exit 7")).unwrap().end, End::Exited(7));
    assert_eq!(run(&followed("kill -KILL $$")).unwrap().end, End::Signalled(libc::SIGKILL));
    assert_eq!(run(&followed("trap 'exit 9' USR1; kill -USR1 $$; exit 1")).unwrap().end, End::Exited(9));
    let stopped = "sleep 1 & p=$!; kill -STOP $p; sleep 0.3; grep State /proc/$p/status; kill -CONT $p; wait $p; echo end";
    let outcome = run(&followed(stopped)).unwrap();
    assert!(printed(&outcome).contains("stop)") && printed(&outcome).ends_with("end\n"), "{outcome:?}");
    let late = Command { timeout: Some(Duration::from_millis(200)), ..followed("sleep 60 & sleep 60") };
    let outcome = run(&late).unwrap();
    assert!(outcome.timed_out && outcome.wall < Duration::from_secs(20), "{outcome:?}");
    let left = run(&followed("setsid sleep 60 & exit 0")).unwrap();
    assert_eq!((left.end, left.leftover_processes, left.surviving_processes), (End::Exited(0), 1, 0));
    let none = Command { follow: true, ..command(&["/etc/passwd"]) };
    assert!(matches!(run(&none), Err(Error::NotExecutable { .. })));
}

#[test]
fn resources_are_measured_the_same_when_it_is_followed() {
    let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 0.05";
    let outcome = run(&followed(script)).unwrap();
    assert!(outcome.user > Duration::from_millis(20) && outcome.max_rss_bytes > 0, "{outcome:?}");
    assert!(outcome.wall >= Duration::from_millis(50) + outcome.user.mul_f64(0.5), "{outcome:?}");
}
