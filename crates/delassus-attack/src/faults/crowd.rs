//! Many runs at the same time on one machine: each ends with the bits it ends with alone.

use std::collections::BTreeMap;
use std::time::Duration;

use delassus::math::Random;

use super::{SCENES, Setting, hash_of, undisturbed};
use crate::asked::{Asked, own_seed};
use crate::process::{Said, Scratch, binary, said};
use crate::tally::Tally;

/// Longest time of all runs together: hundreds share the processors.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Starts so many runs at once, with recordings and checkpoints and 1, 2 or 8 threads each.
pub(crate) fn attack(asked: &Asked, count: u64, seed: u64) -> Result<Tally, String> {
    let binary = binary(asked)?;
    let scratch = Scratch::new("crowd")?;
    let mut alone: BTreeMap<&str, (Duration, String)> = BTreeMap::new();
    let mut settings = Vec::new();
    for i in asked.first..asked.first + count {
        let mut random = Random::new(own_seed(seed, 34, i));
        let scene = SCENES[random.below(SCENES.len())];
        let mut setting = Setting {
            binary: &binary,
            folder: scratch.path().join(i.to_string()),
            scene,
            length: Duration::ZERO,
            hash: String::new(),
            threads: ["1", "2", "8"][random.below(3)],
        };
        if !alone.contains_key(scene[0]) {
            alone.insert(scene[0], undisturbed(&setting)?);
        }
        (setting.length, setting.hash) = alone[scene[0]].clone();
        settings.push(setting);
    }
    let ended: Vec<Result<Said, String>> = std::thread::scope(|scope| {
        let start = |setting| scope.spawn(move || said(&mut Setting::recorded(setting), PATIENCE));
        let runs: Vec<_> = settings.iter().map(start).collect();
        let join = |run: std::thread::ScopedJoinHandle<'_, _>| run.join();
        let lost = |_| Err("a thread of the attack panicked".to_owned());
        runs.into_iter()
            .map(|run| join(run).unwrap_or_else(lost))
            .collect()
    });
    let mut tally = Tally::default();
    for (setting, said) in settings.iter().zip(ended) {
        let [name, ..] = setting.scene;
        let row = tally.row("crowd", name);
        let wrong = disturbed(setting, &said?);
        row.tried();
        row.failed("wrong", u64::from(wrong.is_some()));
        if let Some(wrong) = wrong {
            asked.note(&format!("{name}, {} threads: {wrong}", setting.threads));
        }
    }
    Ok(tally)
}

/// How a run differs from one alone, if it does: exit code, hash, and one line a step below a head.
fn disturbed(setting: &Setting<'_>, said: &Said) -> Option<String> {
    let [_, dt, time] = setting.scene.map(|word| word.parse().unwrap_or(f64::NAN));
    let lines = (time / dt).round() as u64 + 1;
    if said.code() != Some(0) {
        return Some(format!("exit {:?}: {}", said.code(), said.err));
    }
    match (hash_of(said), setting.lines()) {
        (Some(hash), _) if hash != setting.hash => {
            Some(format!("hash {hash}, not {}", setting.hash))
        }
        (None, _) => Some(format!("no summary: {}", said.err)),
        (_, found) if found != Some(lines) => Some(format!("{found:?} lines of {lines}")),
        _ => None,
    }
}
