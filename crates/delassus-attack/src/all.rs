//! Every attack in parts, each kept when it is done: a long run that can be stopped and gone on with.

use std::path::Path;
use std::time::Instant;

use crate::asked::Asked;
use crate::tally::Tally;

/// An attack, how many are tried in all (of every class, where it has classes), and how many at a time.
struct Plan {
    name: &'static str,
    count: u64,
    part: u64,
}

/// 100 000 problems in ten classes, 10⁶ files in nine formats, 504 scenes in nine classes, 1000 kills, 900 strangers.
const PLANS: [Plan; 6] = [
    Plan {
        name: "files",
        count: 111_112,
        part: 4000,
    },
    Plan {
        name: "faults",
        count: 1000,
        part: 50,
    },
    Plan {
        name: "commands",
        count: 20_000,
        part: 1000,
    },
    Plan {
        name: "server",
        count: 900,
        part: 90,
    },
    Plan {
        name: "problems",
        count: 10_000,
        part: 100,
    },
    Plan {
        name: "scenes",
        count: 56,
        part: 2,
    },
];

/// Parts that are done, and their sum as a table.
const PARTS: &str = "attack-parts";
const TABLE: &str = "attack.csv";

/// Runs what is left of every attack, or of those named; what is done already counts where `--resume` is given.
pub(crate) fn attack(asked: &Asked, named: &[&str]) -> Result<Tally, String> {
    let out = asked.out.as_deref().ok_or("all needs --out FOLDER")?;
    let parts = out.join(PARTS);
    let disk = |e: std::io::Error| format!("{}: {e}", parts.display());
    std::fs::create_dir_all(&parts).map_err(disk)?;
    if !asked.resume && std::fs::read_dir(&parts).map_err(disk)?.next().is_some() {
        let place = parts.display();
        return Err(format!(
            "{place} holds parts of an earlier run; go on with --resume, or remove it"
        ));
    }
    let share = asked.share.unwrap_or(1.0);
    let mut sum = Tally::default();
    let known = PLANS.iter().find(|plan| named.contains(&plan.name));
    if let (None, Some(name)) = (known, named.first()) {
        return Err(format!("there is no attack \"{name}\""));
    }
    // The first part of each, then the second of each: whatever is there when it is stopped is of all kinds.
    for round in 0.. {
        let mut done = true;
        for plan in &PLANS {
            let (first, count) = (round * plan.part, (share * plan.count as f64).ceil() as u64);
            let skipped = !named.is_empty() && !named.contains(&plan.name);
            if count <= first || skipped {
                continue;
            }
            done = false;
            let range = (first, plan.part.min(count - first));
            sum.join(&one_part(asked, plan.name, range, &parts)?);
            std::fs::write(out.join(TABLE), sum.csv()).map_err(disk)?;
        }
        if done {
            break;
        }
    }
    Ok(sum)
}

/// One part, read where it is there and done where it is not.
fn one_part(
    asked: &Asked,
    name: &str,
    (first, count): (u64, u64),
    folder: &Path,
) -> Result<Tally, String> {
    let seed = asked.seed;
    let path = folder.join(format!("{name}-{seed}-{first}-{count}.json"));
    if let Ok(text) = std::fs::read_to_string(&path) {
        return serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()));
    }
    let begin = Instant::now();
    let own = Asked {
        first,
        ..asked.clone()
    };
    let tally = crate::one(&own, name, (count, seed))?;
    let text = serde_json::to_string(&tally).map_err(|e| e.to_string())?;
    // Whole or not at all: a part that is there is done.
    let temporary = path.with_extension("tmp");
    let written = std::fs::write(&temporary, text);
    let written = written.and_then(|()| std::fs::rename(&temporary, &path));
    written.map_err(|e| format!("{}: {e}", path.display()))?;
    let tried: u64 = tally.0.iter().map(|row| row.tried).sum();
    let failed: u64 = tally.0.iter().map(|row| row.failures()).sum();
    let seconds = begin.elapsed().as_secs_f64();
    asked.note(&format!(
        "{name} from {first}: {tried} tried, {failed} failed, {seconds:.0} s"
    ));
    Ok(tally)
}
