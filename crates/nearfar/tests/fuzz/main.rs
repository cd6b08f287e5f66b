//! Fuzzing without further tools: every target runs its seeds, and mutations of them for a moment.
//!
//! Mutations are the same in every run. `NEARFAR_FUZZ_SECONDS` is the time of each target (half a
//! second by default), `NEARFAR_FUZZ_TARGET` the only one to run, `NEARFAR_FUZZ_SEED` starts other
//! mutations. An input that fails is written to a file, which belongs into `corpus/` once the fault
//! is mended. `scripts/fuzz` runs all of this for longer.

#![allow(clippy::print_stdout, reason = "a long run prints what it tried")]

#[path = "allocation.rs"]
mod allocation;
mod mutate;
mod seeds;
mod targets;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, panic, process, thread};

use mutate::{Random, mutate};
use seeds::seeds;
use targets::{TARGETS, Target, is_fault};

/// Bytes that reading may allocate whatever the input, and per byte of it.
const MEMORY: usize = 64_000_000;
const MEMORY_PER_BYTE: usize = 10;

/// An input that takes longer has failed.
const SLOW: Duration = Duration::from_secs(10);

fn variable(name: &str) -> Option<String> {
    std::env::var(format!("NEARFAR_FUZZ_{name}")).ok().filter(|value| !value.is_empty())
}

#[test]
fn no_input_panics_hangs_or_takes_memory() {
    let seconds = variable("SECONDS").map_or(0.5, |text| text.parse().expect("a number"));
    let seed = variable("SEED").map_or(1, |text| text.parse().expect("a number"));
    let only = variable("TARGET");
    for target in TARGETS.iter().filter(|target| only.as_deref().is_none_or(|it| it == target.name))
    {
        fuzz(target, Duration::from_secs_f64(seconds), seed);
    }
}

/// Writes the seeds of every target to folders, for libFuzzer.
#[test]
#[ignore = "writes files; scripts/fuzz runs it"]
fn write_seeds() {
    let folder = PathBuf::from(variable("SEEDS").expect("NEARFAR_FUZZ_SEEDS names a folder"));
    for target in &TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder).expect("a folder");
        for (number, seed) in seeds(target.name).iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:03}")), seed).expect("a seed");
        }
    }
}

fn fuzz(target: &Target, time: Duration, seed: u64) {
    let seeds = seeds(target.name);
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    watch_panics();
    let running = Watch::new(target.name);
    let (mut runs, mut largest, mut slowest) = (0_u64, 0, Duration::ZERO);
    let mut one = |input: &[u8]| {
        running.set(Some((Instant::now(), input.to_vec())));
        let start = Instant::now();
        let run = || catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
        let (result, bytes) = allocation::peak_of(run);
        running.set(None);
        if result.is_err() || PANICKED.swap(false, Relaxed) {
            fail(target.name, input, "panicked");
        }
        let allowed = MEMORY + MEMORY_PER_BYTE * input.len();
        if target.bounded && bytes > allowed {
            fail(target.name, input, &format!("allocated {bytes} bytes; {allowed} are allowed"));
        }
        (runs, largest, slowest) = (runs + 1, bytes.max(largest), start.elapsed().max(slowest));
    };
    for seed in &seeds {
        one(seed);
    }
    let mut random = Random::new(seed);
    let start = Instant::now();
    while start.elapsed() < time {
        let mut input = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        mutate(&mut input, other, &mut random);
        one(&input);
    }
    println!("{}: {runs} inputs, at most {largest} bytes and {slowest:.2?}", target.name);
}

/// Whether code panicked that must not, even if the panic was caught.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Prints and records panics, except those that decoders may have.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let print = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if is_fault(panic) {
                PANICKED.store(true, Relaxed);
                print(panic);
            }
        }));
    });
}

/// Keeps an input that failed, and ends the test.
fn fail(name: &str, input: &[u8], what: &str) -> ! {
    let path = std::env::temp_dir().join(format!("nearfar-fuzz-{name}-{}", process::id()));
    fs::write(&path, input).expect("the temporary folder is writable");
    panic!("{name}: an input of {} bytes {what}: {}", input.len(), path.display());
}

type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

/// Ends the process if an input takes too long.
struct Watch(Running);

impl Watch {
    fn new(name: &'static str) -> Self {
        let running = Running::default();
        let watched = Arc::downgrade(&running);
        thread::spawn(move || {
            while let Some(running) = watched.upgrade() {
                let input = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some((since, input)) = input
                    && since.elapsed() > SLOW
                {
                    let _ = catch_unwind(|| fail(name, &input, "took too long"));
                    process::abort();
                }
                drop(running);
                thread::sleep(Duration::from_millis(200));
            }
        });
        Self(running)
    }

    fn set(&self, input: Option<(Instant, Vec<u8>)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = input;
    }
}
