//! One process from start to end.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Lines, Stdin, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, set_child_subreaper, wait};

use super::{Told, Word, descendants};
use crate::{Exit, Inherit, Spec};

/// How long the kernel may take to let go of killed processes.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// How often the descendants are looked at while they are ended.
const LOOK: Duration = Duration::from_millis(20);

/// What can happen to a launcher.
enum Happening {
    /// A child was reaped.
    Reaped(Pid, WaitStatus),
    /// The owner wants the process ended, or is gone.
    End,
}

/// The launcher's program: `verbatim launcher`. Speaks over standard input and output.
pub fn main() -> ExitCode {
    let mut owner = BufReader::new(std::io::stdin()).lines();
    let told = owner.next().and_then(Result::ok).and_then(|line| serde_json::from_str(&line).ok());
    let Some(Told::Start(spec)) = told else { return ExitCode::from(2) };
    let pid = match start(&spec) {
        Ok(pid) => pid,
        Err(error) => {
            say(&Word::Failed { reason: error.to_string() });
            return ExitCode::FAILURE;
        }
    };
    say(&Word::Started { pid: pid.as_raw_nonzero().get() });
    let (happenings, happened) = channel();
    let gone = listen(owner, happenings.clone());
    reap(happenings);
    let exit = see_through(pid, Duration::from_millis(spec.grace_ms), &happened);
    say(&Word::Exited(exit));
    if let Some(folder) = spec.folder {
        // Its owner may read it yet. A process often ends because its owner is gone: both end here.
        let _ = gone.join();
        // Nobody may be left who could be told that it failed.
        let _ = std::fs::remove_dir_all(folder);
    }
    ExitCode::SUCCESS
}

/// Tells the owner. One that is gone does not hear it, and nothing is to be done about that.
fn say(word: &Word) {
    let mut line = serde_json::to_vec(word).unwrap_or_default();
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(&line).and_then(|()| out.flush());
}

fn start(spec: &Spec) -> std::io::Result<Pid> {
    set_child_subreaper(Pid::from_raw(std::process::id() as i32))?;
    let log = OpenOptions::new().create(true).append(true).open(&spec.log)?;
    let (program, arguments) =
        spec.argv.split_first().ok_or_else(|| std::io::Error::other("there is no program"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(&spec.cwd)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0);
    match &spec.inherit {
        Inherit::Except(hidden) => hidden.iter().for_each(|name| {
            command.env_remove(name);
        }),
        Inherit::Only(names) => {
            let kept = names.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.env_clear().envs(kept.collect::<Vec<_>>());
        }
    }
    let child = command.envs(&spec.env).spawn()?;
    // It is reaped with everything else, by `reap`.
    Pid::from_raw(child.id() as i32).ok_or_else(|| std::io::Error::other("the process has no id"))
}

/// Hears the owner; the thread ends once it has closed the pipe or is gone.
fn listen(owner: Lines<BufReader<Stdin>>, happenings: Sender<Happening>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut lines = owner.map_while(Result::ok);
        let _ = lines.by_ref().any(|line| matches!(serde_json::from_str(&line), Ok(Told::End)));
        let _ = happenings.send(Happening::End);
        lines.for_each(drop);
    })
}

fn reap(happenings: Sender<Happening>) {
    std::thread::spawn(move || {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    if happenings.send(Happening::Reaped(pid, status)).is_err() {
                        return;
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                // No child is left now; one may yet be inherited.
                Ok(None) | Err(_) => std::thread::sleep(LOOK),
            }
        }
    });
}

/// Waits for the process or for the word to end it, then ends everything.
fn see_through(pid: Pid, grace: Duration, happened: &Receiver<Happening>) -> Exit {
    let mut status = None;
    while status.is_none() {
        match happened.recv() {
            Ok(Happening::Reaped(reaped, how)) if reaped == pid => status = Some(how),
            Ok(Happening::Reaped(..)) => {}
            Ok(Happening::End) | Err(_) => break,
        }
    }
    let asked = sweep(Signal::TERM, grace, pid, &mut status, happened);
    let clean = asked || sweep(Signal::KILL, KILL_GRACE, pid, &mut status, happened);
    let code = status.and_then(|status| status.exit_status());
    let signal = status.and_then(|status| status.terminating_signal());
    Exit { code, signal, clean }
}

/// Signals every descendant until none is left or time is up. SIGKILL is sent at each look, since
/// what is killed may have started something; SIGTERM only to those not seen before.
fn sweep(
    signal: Signal,
    time: Duration,
    pid: Pid,
    status: &mut Option<WaitStatus>,
    happened: &Receiver<Happening>,
) -> bool {
    let until = Instant::now() + time;
    let mut told: Vec<Pid> = Vec::new();
    loop {
        let mut living = descendants::living();
        if living.is_empty() && status.is_some() {
            return true;
        }
        if signal == Signal::TERM {
            living.retain(|pid| !told.contains(pid));
            told.extend(&living);
        }
        descendants::signal(&living, signal);
        if Instant::now() >= until {
            return false;
        }
        match happened.recv_timeout(LOOK) {
            Ok(Happening::Reaped(reaped, how)) if reaped == pid => *status = Some(how),
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK),
        }
    }
}
