//! A scripted look-alike of libnvidia-ml, for tests of GPU software on machines without a GPU.
//!
//! Use it if your program, in whatever language, reads NVIDIA GPUs through NVML and you want to test what it makes of
//! a known power curve, of a sensor's delays, of errors, lost GPUs, MIG or an old driver. It stands in for the driver
//! library; it knows nothing of CUDA, and no kernel runs. For a meter that works on real hardware see `wattspan`; for
//! power curves without a library to load, [`model`] is enough.
//!
//! # Example
//!
//! Add the crate as a dev-dependency; cargo then builds the shared library beside your tests.
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use nvml_wrapper::Nvml;
//! use wattspan_fake_nvml::{ErrorWindow, FakeNvml};
//!
//! let fake = FakeNvml::builder().gpus(2).load()?;
//! // 60 W at rest, and a request from 1 s to 3 s that takes 240 W more.
//! fake.gpu(0).idle_watts(60.0)?.load("chat-1", 1_000_000, 3_000_000, 240.0, 0)?;
//! fake.gpu(1).fail("nvmlDeviceGetPowerUsage", 3, ErrorWindow::ALWAYS)?;
//!
//! let nvml = Nvml::builder().lib_path(fake.path().as_os_str()).init()?;
//! fake.set_time_us(10_000_000)?;
//! assert_eq!(nvml.device_by_index(0)?.total_energy_consumption()?, 1_080_000);
//! assert!(nvml.device_by_index(1)?.power_usage().is_err());
//! // The truth does not come from the counter.
//! assert_eq!(fake.gpu(0).request("chat-1")?.joules, 480.0);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Copies
//!
//! Each [`FakeNvml`] is a copy of the library in a folder of its own: the loader takes equal files for one library, so
//! only copies keep tests that run at once apart. The copy's file name is `libnvidia-ml.so.1`; a program that cannot
//! be told a path finds it if `LD_LIBRARY_PATH` names its folder. The original is looked for beside the test's
//! program; `FAKE_NVML_LIBRARY` names it anywhere else. [`Builder::without_symbol`] takes functions away from the
//! copy, as if the driver were too old to have them.
//!
//! # Other languages and whole programs
//!
//! `cargo build` leaves the library in the target folder. Under the driver's name it serves any program:
//!
//! ```text
//! cp target/debug/libwattspan_fake_nvml.so fake/libnvidia-ml.so.1
//! printf 'clock real\ngpus 2\ngpu all profile square 100 500 100000\n' > fake/script
//! LD_LIBRARY_PATH=fake FAKE_NVML_SCRIPT=fake/script python3 my_gpu_monitor.py
//! ```
//!
//! # Control language
//!
//! Every typed method writes one line of this language. It can also be spoken through [`FakeNvml::control`], through
//! the exported C function `int fake_nvml_ctl(const char *lines)`, and by a file that `FAKE_NVML_SCRIPT` names, for
//! programs in another process ([`ScriptFile`]): lines that are added to the file are carried out once; a file that is
//! replaced is carried out anew. `#` begins a remark. `T` is a moment in microseconds, `+N` (from the line's own
//! moment) or `now`. Words in brackets may be left out.
//!
//! | Line | Meaning |
//! |---|---|
//! | `clock virtual` · `clock real` | the clock stands, or runs by itself; either way it goes on from where it was |
//! | `time_us N` · `advance_us N` | sets the virtual clock, or moves it on; never back |
//! | `at T LINE` | carries out a line when the clock gets there, as if at that moment |
//! | `gpus N` | number of GPUs, 0 to 16 |
//! | `driver version V` · `driver nvml V` · `driver cuda N` | versions |
//! | `driver reload [V]` | handles become void, NVML uninitialised, counters 0 |
//! | `delay_us N [FUNCTION]` | time for which a call keeps its caller busy |
//! | `err FUNCTION CODE [from T] [until T] [times N]` | a function answers with a code; `*` is every function; the latest fitting line counts, and code 0 makes an exception |
//! | `ok FUNCTION` | takes that back |
//! | `calls reset` · `reset` | forgets the counts of calls, or everything |
//! | `gpu N …` · `gpu all …` | one GPU, by the place at which it was made, or each |
//! | `… name TEXT` · `uuid S` · `serial [S]` · `pci S` · `minor N` · `brand N` · `arch N` · `cc N N` | identity |
//! | `… preset NAME` | sensors and architecture of `pascal`, `volta`, `turing`, `ga100`, `ampere`, `ada`, `hopper`, `blackwell` |
//! | `… idle W` | the same as `profile constant W` |
//! | `… profile constant W` · `ramp W W T T` · `square LOW HIGH PERIOD [DUTY] [PHASE]` · `burst BASE HIGH BEGIN LENGTH` · `steps T:W …` · `points T:W …` | power apart from loads, from now on; its times count from now |
//! | `… load add ID T T W [TAIL_US]` | a load from a moment to another (`-`: open), which then falls in a line to 0 |
//! | `… load begin ID W [T]` · `load end ID [TAIL_US] [T]` | the same in two steps |
//! | `… load forget [T]` | drops loads that ended before; their energy stays |
//! | `… counter refresh US [PHASE]` · `quantum MJ` · `start MJ` · `wrap MJ` · `wrap off` · `gain F` | how the energy counter shows energy |
//! | `… counter off` · `on` · `reset` · `freeze` · `thaw` | faults of the counter |
//! | `… sensor usage` or `average` or `instant` `[update US] [window US] [phase US]` · `exact` · `off` | a power reading: the mean over the window that ends at the last refresh |
//! | `… sensor gain F` | factor on all power readings |
//! | `… module W` | power of the module around the GPU; the counter covers it |
//! | `… util fixed GPU MEM` · `util loads [WINDOW_US] [UPDATE_US] [MEM_SHARE]` | utilisation |
//! | `… memory TOTAL RESERVED USED` | bytes |
//! | `… temp C [MEMORY_C]` · `threshold KIND C` · `threshold KIND off` | temperatures |
//! | `… limit W [min W] [max W] [default W] [enforced W]` | power limits |
//! | `… clock graphics` or `sm` or `mem` or `video` `NOW MAX` · `reasons BITS` · `pstate N` · `fan P …` · `fan off` | clocks, their event reasons, fans |
//! | `… pcie [tx KIB] [rx KIB] [replay N] [gen N] [width N]` · `ecc CORRECTED UNCORRECTED` · `ecc off` | link and memory errors |
//! | `… proc add PID BYTES [kind C] [gi N] [ci N] [util SM MEM]` · `proc del PID` · `proc clear` | processes: `na` for unknown bytes, kinds `C`, `G`, `M` |
//! | `… mig on` · `off` · `unsupported` | MIG mode |
//! | `… mig add BYTES [used N] [reserved N] [gi N] [ci N] [sms N] [slices N] [uuid S] [name TEXT]` | a MIG device |
//! | `… mig remove J` | takes the MIG device with that number away; later ones move up, and its handle is no more |
//! | `… mig J err …` · `mig J ok …` · `mig J memory …` | one of them |
//! | `… err …` · `ok …` | as above, on this GPU; `field:186` is one field value |
//! | `… lost` | every call on the GPU answers 15, and the next initialisation does not find it |
//! | `… return [index N] [keep]` | it is back: new handles, perhaps another index, counter at 0 unless kept |
//!
//! Questions go through [`FakeNvml::query`] or `intptr_t fake_nvml_query(const char *question, char *out, size_t
//! length)`: `now`, `version`, `error`, `calls [FUNCTION]`, and with a GPU `joules N T T`, `base_joules N T T`,
//! `joules_without_requests N T T`, `watts N T`, `counter N T`, `requests N`, `request N ID` (begin, end, joules, in
//! flight, tail, base share, shared).
//!
//! # Limits
//!
//! - The library is loaded on Linux only; elsewhere the crate builds, [`model`] works, and [`FakeNvml::new`] is
//!   [`Error::Unsupported`]. The target must be able to build `cdylib` (not static musl).
//! - Functions that set something, events, NVLink, vGPU and samples (`nvmlDeviceGetSamples`) are not exported: to a
//!   caller they are missing, as in a driver without them.
//! - Sensors average over plain windows. The slow exponential response of Kepler and Maxwell is not modelled.
//! - Field 191 (`NVML_FI_DEV_ENERGY`) answers "not supported", because its unit is not documented.
//!
//! # Features
//!
//! None. There are no dependencies.

mod driver;
mod error;
mod fake;
mod image;
mod library;
pub mod model;

pub use error::Error;
pub use fake::{Builder, ErrorWindow, FakeNvml, GpuControl, MigDevice, ProcessKind, ProcessSpec, ScriptFile};
