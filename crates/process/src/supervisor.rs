//! Starting the supervisor, reading along while the program runs, and its report.

use std::ffi::{CString, OsString, c_char};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use crate::capture::{Capture, Captured};
use crate::{Command, Counter, Error, Namespace, descriptor, program_in_memory, search};

static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/supervisor"));

/// The supervisor as an executable file, for machines of this architecture that have nothing of ours.
#[must_use]
pub fn supervisor_image() -> &'static [u8] {
    PROGRAM
}

/// Descriptors of the supervisor, as `supervisor.c` has them.
const REPORT: RawFd = 3;
const CANCEL: RawFd = 4;
const NOTES: RawFd = 5;

/// How long the pipes are left alone when little is in them: a program that prints a line at a time would
/// otherwise wake its reader, on some CPU, for each.
static PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// The most counters of a run.
pub(crate) const MAX_COUNTERS: usize = 16;

/// What a counter came to; kept in step with `struct reading` in `supervisor.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) value: i64,
    pub(crate) enabled_ns: i64,
    pub(crate) running_ns: i64,
    pub(crate) error: i64,
}

/// What the supervisor tells; kept in step with `struct report` in `supervisor.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) stage: i64,
    pub(crate) error: i64,
    pub(crate) realtime: i64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) status: i64,
    pub(crate) user_us: i64,
    pub(crate) system_us: i64,
    pub(crate) max_rss_kib: i64,
    pub(crate) minor_faults: i64,
    pub(crate) major_faults: i64,
    pub(crate) blocks_in: i64,
    pub(crate) blocks_out: i64,
    pub(crate) voluntary: i64,
    pub(crate) involuntary: i64,
    pub(crate) reason: i64,
    pub(crate) leftover: i64,
    pub(crate) surviving: i64,
    pub(crate) counters: [Reading; MAX_COUNTERS],
}

/// Everything that can be made ready before the start.
pub(crate) struct Prepared<'command> {
    command: &'command Command,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: OwnedFd,
    stdin: OwnedFd,
    report: (OwnedFd, OwnedFd),
    cancel: OwnedFd,
    notes: Option<File>,
    outputs: [(Capture, OwnedFd); 2],
}

/// A run on its way.
pub(crate) struct Running {
    supervisor: libc::pid_t,
    report: OwnedFd,
    notes: Option<File>,
    captures: [Capture; 2],
}

impl<'command> Prepared<'command> {
    pub(crate) fn new(command: &'command Command) -> Result<Self, Error> {
        let directory = open_directory(&command.working_directory)?;
        let path = search::find(command, &directory)?;
        let report = descriptor::pipe()?;
        Ok(Self {
            arguments: supervisor_arguments(command, path)?,
            environment: environment_strings(&command.environment)?,
            stdin: open_stdin(command.stdin.as_deref())?,
            cancel: descriptor::duplicate(command.cancel.unwrap_or(report.1.as_raw_fd()))?,
            notes: command.follow.then(file_for_notes).transpose()?,
            outputs: [Capture::new(&command.stdout)?, Capture::new(&command.stderr)?],
            directory,
            report,
            command,
        })
    }

    /// Starts the supervisor, which starts the program.
    pub(crate) fn start(self) -> Result<Running, Error> {
        let program = executable()?;
        let [(stdout, stdout_end), (stderr, stderr_end)] = self.outputs;
        let mut layout = vec![
            (self.stdin.as_raw_fd(), 0),
            (stdout_end.as_raw_fd(), 1),
            (stderr_end.as_raw_fd(), 2),
            (self.report.1.as_raw_fd(), REPORT),
            (self.cancel.as_raw_fd(), CANCEL),
        ];
        layout.extend(self.notes.as_ref().map(|notes| (notes.as_raw_fd(), NOTES)));
        let mut process = 0;
        let (arguments, environment) = (pointers(&self.arguments), pointers(&self.environment));
        let actions = Actions::new(&self.directory, &layout)?;
        let attributes = Attributes::new()?;
        // SAFETY: the path and every string end in a zero byte, both lists end in a null pointer, and all live on.
        let error = unsafe {
            libc::posix_spawn(
                &raw mut process,
                program.as_ptr(),
                &raw const actions.0,
                &raw const attributes.0,
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        };
        match error {
            0 => Ok(Running {
                supervisor: process,
                report: self.report.0,
                notes: self.notes,
                captures: [stdout, stderr],
            }),
            libc::E2BIG => Err(too_long(self.command)),
            _ => {
                let source = io::Error::from_raw_os_error(error);
                Err(Error::System { attempt: "starting the supervisor", source })
            }
        }
    }
}

impl Running {
    /// Takes in what the program prints until the supervisor reports.
    ///
    /// # Errors
    /// `SupervisorLost`; `System` when a file cannot be written or poll fails. Dropping the report's reading end then
    /// makes the supervisor end the program.
    pub(crate) fn read_to_end(&mut self) -> Result<Report, Error> {
        let mut paused = true;
        while !self.wait(paused)? {
            paused = self.drain()?;
        }
        let report = self.read_report()?;
        self.drain()?;
        Ok(report)
    }

    /// Waits for the report (true) or for output or the end of a pause (false).
    fn wait(&self, paused: bool) -> Result<bool, Error> {
        let [stdout, stderr] = [&self.captures[0], &self.captures[1]].map(Capture::descriptor);
        let watch = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut watched = [watch(self.report.as_raw_fd()), watch(stdout), watch(stderr)];
        let idle = stdout < 0 && stderr < 0;
        let count = if paused { 1 } else { 3 };
        let timeout = if paused && !idle { &raw const PAUSE } else { std::ptr::null() };
        // SAFETY: `watched` has at least `count` entries; the timeout is null or static; no signal mask is given.
        let ready = unsafe { libc::ppoll(watched.as_mut_ptr(), count, timeout, std::ptr::null()) };
        if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return Err(Error::last("waiting for the program"));
        }
        Ok(ready > 0 && watched[0].revents != 0)
    }

    /// Empties the pipes; whether something was in them, and so little that they can be left alone for a while.
    fn drain(&mut self) -> Result<bool, Error> {
        let (mut some, mut much) = (false, false);
        for capture in &mut self.captures {
            let taken =
                capture.drain().map_err(|source| Error::System { attempt: "taking in output", source })?;
            some |= taken > 0;
            much |= taken >= capture.pipe_size as u64 / 8;
        }
        Ok(some && !much)
    }

    fn read_report(&self) -> Result<Report, Error> {
        let mut report = Report::default();
        let size = size_of::<Report>();
        loop {
            // SAFETY: `report` has `size` bytes and every bit pattern is a valid one.
            let count = unsafe { libc::read(self.report.as_raw_fd(), (&raw mut report).cast(), size) };
            match usize::try_from(count) {
                Ok(count) if count == size => return Ok(report),
                Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => return Err(Error::SupervisorLost),
            }
        }
    }

    /// Takes what was noted of the programs that were started; `None` where nothing was to be.
    pub(crate) fn take_notes(&mut self) -> Option<Vec<u8>> {
        let mut notes = Vec::new();
        let mut file = self.notes.take()?;
        file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut notes)).ok()?;
        Some(notes)
    }

    /// Gives what was captured and lets the supervisor go: without a reader of its report it ends what still runs.
    pub(crate) fn finish(self) -> [Captured; 2] {
        let Self { supervisor, report, captures, .. } = self;
        drop(report);
        loop {
            // SAFETY: a wait for one child of ours. ECHILD (the caller ignores SIGCHLD) is as good.
            let result = unsafe { libc::waitpid(supervisor, std::ptr::null_mut(), 0) };
            if result >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return captures.map(Capture::finish);
            }
        }
    }
}

/// Where the supervisor can be executed: a file in memory, made once.
fn executable() -> Result<&'static CString, Error> {
    static PATH: OnceLock<(CString, OwnedFd)> = OnceLock::new();
    if PATH.get().is_none() {
        let file = program_in_memory(c"trialwise-supervisor", PROGRAM)
            .map_err(|source| Error::System { attempt: "laying out the supervisor", source })?;
        // The child's own descriptors must not cover it.
        let file = descriptor::of_file(file)?;
        // A loser of this race closes its file again.
        let _ = PATH.set((proc_path(file.as_raw_fd()), file));
    }
    PATH.get().map(|(path, _)| path).ok_or(Error::SupervisorLost)
}

fn proc_path(descriptor: RawFd) -> CString {
    CString::new(format!("/proc/self/fd/{descriptor}")).unwrap_or_default()
}

fn supervisor_arguments(command: &Command, path: CString) -> Result<Vec<CString>, Error> {
    let settings =
        ["trialwise-supervisor".to_owned(), nanoseconds(command.timeout), nanoseconds(Some(command.grace))];
    let mut arguments = Vec::with_capacity(command.arguments.len() + 7);
    for setting in settings.into_iter().chain([
        cpu_list(&command.cpus)?,
        counter_list(&command.counters)?,
        namespaces(command),
    ]) {
        arguments.push(c_string("setting", setting.into())?);
    }
    arguments.push(path);
    for argument in &command.arguments {
        arguments.push(c_string("argument", argument.clone())?);
    }
    Ok(arguments)
}

fn nanoseconds(span: Option<Duration>) -> String {
    // A century is for ever, and leaves room to add it to a clock.
    span.map_or_else(|| "-".to_owned(), |span| span.as_nanos().min(3_000_000_000_000_000_000).to_string())
}

fn cpu_list(cpus: &[usize]) -> Result<String, Error> {
    // SAFETY: sysconf only answers.
    let present = usize::try_from(unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) }).unwrap_or(1);
    if cpus.iter().any(|cpu| *cpu >= present) {
        return Err(Error::Cpus { cpus: cpus.to_vec(), source: io::Error::from_raw_os_error(libc::EINVAL) });
    }
    let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
    Ok(if list.is_empty() { "-".to_owned() } else { list.join(",") })
}

/// An empty file in memory.
fn file_for_notes() -> Result<File, Error> {
    // SAFETY: the name ends in a zero byte.
    let created = unsafe { libc::memfd_create(c"trialwise-notes".as_ptr(), libc::MFD_CLOEXEC) };
    if created < 0 {
        return Err(Error::last("making a file for notes"));
    }
    // SAFETY: it was just opened and belongs to nobody else.
    descriptor::of_file(unsafe { File::from_raw_fd(created) }).map(File::from)
}

/// `FLAGS` or `FLAGS@PROCESS`, with a plus where it is to be followed.
fn namespaces(command: &Command) -> String {
    let flag = |namespace: &Namespace| match namespace {
        Namespace::Network => libc::CLONE_NEWNET,
        Namespace::Ipc => libc::CLONE_NEWIPC,
    };
    let flags = command.isolate.iter().map(flag).fold(0, |flags, flag| flags | flag);
    let entered = command.inside.map_or_else(String::new, |process| format!("@{process}"));
    let followed = if command.follow { "+" } else { "" };
    format!("{flags}{entered}{followed}")
}

fn counter_list(counters: &[Counter]) -> Result<String, Error> {
    if counters.len() > MAX_COUNTERS {
        return Err(Error::TooManyCounters { given: counters.len(), most: MAX_COUNTERS });
    }
    let list: Vec<String> = counters.iter().map(Counter::for_supervisor).collect();
    Ok(if list.is_empty() { "-".to_owned() } else { list.join(",") })
}

fn environment_strings(environment: &[(OsString, OsString)]) -> Result<Vec<CString>, Error> {
    let string = |(name, value): &(OsString, OsString)| {
        if name.is_empty() || name.as_bytes().contains(&b'=') {
            return Err(Error::BadName { name: name.clone() });
        }
        let mut text = name.clone();
        text.push("=");
        text.push(value);
        c_string("environment variable", text)
    };
    environment.iter().map(string).collect()
}

fn c_string(part: &'static str, text: OsString) -> Result<CString, Error> {
    CString::new(text.as_bytes()).map_err(|_| Error::ZeroByte { part, text })
}

/// The strings as `exec` takes them: pointers, then a null pointer.
fn pointers(strings: &[CString]) -> Vec<*mut c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([std::ptr::null_mut()]).collect()
}

fn open_directory(path: &Path) -> Result<OwnedFd, Error> {
    let failed = |source| Error::WorkingDirectory { path: path.to_owned(), source };
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let directory =
        descriptor::of_file(File::options().read(true).custom_flags(flags).open(path).map_err(failed)?)?;
    // SAFETY: the path ends in a zero byte.
    match unsafe { libc::faccessat(directory.as_raw_fd(), c".".as_ptr(), libc::X_OK, libc::AT_EACCESS) } {
        0 => Ok(directory),
        _ => Err(failed(io::Error::last_os_error())),
    }
}

fn open_stdin(path: Option<&Path>) -> Result<OwnedFd, Error> {
    let path = path.unwrap_or(Path::new("/dev/null"));
    let file = File::open(path).map_err(|source| Error::Input { path: path.to_owned(), source })?;
    descriptor::of_file(file)
}

pub(crate) fn too_long(command: &Command) -> Error {
    let arguments = command.arguments.iter().map(|argument| argument.len() + 1);
    let environment = command.environment.iter().map(|(name, value)| name.len() + value.len() + 2);
    Error::TooLong {
        program: command.arguments.first().cloned().unwrap_or_default(),
        bytes: arguments.chain(environment).sum(),
        strings: command.arguments.len() + command.environment.len(),
    }
}

/// What `posix_spawn` does in the child: descriptors and working directory.
struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new(directory: &OwnedFd, layout: &[(RawFd, RawFd)]) -> Result<Self, Error> {
        let mut actions = MaybeUninit::uninit();
        // SAFETY: the call initialises `actions`.
        check(unsafe { libc::posix_spawn_file_actions_init(actions.as_mut_ptr()) })?;
        // SAFETY: initialised by the call above.
        let mut actions = Self(unsafe { actions.assume_init() });
        for (from, to) in layout {
            // SAFETY: `actions` is initialised.
            check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut actions.0, *from, *to) })?;
        }
        // SAFETY: `actions` is initialised. The directory was opened before, so that what was checked is what is used.
        check(unsafe {
            libc::posix_spawn_file_actions_addfchdir_np(&raw mut actions.0, directory.as_raw_fd())
        })?;
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: `self.0` is initialised and dropped once.
        unsafe { libc::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}

/// A process group of its own, every signal at its default and none blocked.
struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new() -> Result<Self, Error> {
        const FLAGS: libc::c_int =
            libc::POSIX_SPAWN_SETPGROUP | libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: the call initialises `attributes`.
        check(unsafe { libc::posix_spawnattr_init(attributes.as_mut_ptr()) })?;
        // SAFETY: initialised by the call above.
        let mut attributes = Self(unsafe { attributes.assume_init() });
        let [mut none, mut all] = [MaybeUninit::uninit(); 2];
        // SAFETY: the sets are filled before they are read, and `attributes` is initialised.
        unsafe {
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigfillset(all.as_mut_ptr());
            check(libc::posix_spawnattr_setpgroup(&raw mut attributes.0, 0))?;
            check(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, none.as_ptr()))?;
            check(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, all.as_ptr()))?;
            check(libc::posix_spawnattr_setflags(&raw mut attributes.0, FLAGS as libc::c_short))?;
        }
        Ok(attributes)
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: `self.0` is initialised and dropped once.
        unsafe { libc::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

fn check(error: libc::c_int) -> Result<(), Error> {
    match error {
        0 => Ok(()),
        _ => Err(Error::System {
            attempt: "preparing to start the supervisor",
            source: io::Error::from_raw_os_error(error),
        }),
    }
}
