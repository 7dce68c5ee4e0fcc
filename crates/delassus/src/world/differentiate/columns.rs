//! How the problem of a step changes with each number that goes into it.
//!
//! The answer feels a change of M, p, G, q and Σ only by what it does at (v, λ) as they are:
//!
//! ```text
//! F = M v − p − Gᵀλ        W = G v + Σλ − q        dp := −dF,  dq := −dW
//! ```
//!
//! so that two vectors stand for all matrices. Forces enter p as h f. Everything else is moved a little both ways, the
//! problem is assembled again at the same contacts, and the difference is taken: contact points, normals and gaps follow
//! the pose by collision detection, matched by feature. This is the one place where differences stand for a derivative.

use std::collections::HashMap;

use super::vary::{Coordinate, Input};
use super::{DifferentiateError, Layout, Solved};
use crate::collide::ContactPoint;
use crate::derivative::{Derivative, Mode};
use crate::law::MOST_NUMBERS;
use crate::problem::{Form, Problem, Solution};
use crate::world::assemble::{self, Room};
use crate::world::contacts::Find;
use crate::world::{Key, StepError, World};

/// Step of a difference, as a share of the size of what is moved: errors of rounding and of the step are alike.
const STEP: f64 = 1e-5;
/// Largest number of a state.
const FASTEST: f64 = 1e300;
/// Change of a slope across the point, as a share of all slopes, from which it counts as a kink.
const KINK: f64 = 1e-3;

/// How the problem changes with one number: entries that are not zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) p: Vec<(usize, f64)>,
    pub(super) q: Vec<(usize, f64)>,
    pub(super) law: Vec<(usize, [f64; MOST_NUMBERS])>,
    /// Slopes differ to both sides, or a contact that pushes is gone on one.
    pub(super) kink: bool,
}

/// F, W and the numbers of all laws, at one point.
struct Sample {
    f: Vec<f64>,
    w: Vec<f64>,
    laws: Vec<[f64; MOST_NUMBERS]>,
    lost: bool,
}

/// What stays while numbers are moved.
struct Sampler<'a> {
    base: World,
    h: f64,
    /// The whole step, over which loads act.
    whole: f64,
    contacts: &'a [ContactPoint],
    keys: &'a [Key],
    answer: &'a Solution,
    /// Rows that an impulse may come from.
    closed: Vec<bool>,
    /// Whether each contact pushes.
    pushes: Vec<bool>,
    centre: Sample,
    room: Room,
    /// Numbers are moved upwards only.
    one_sided: bool,
}

/// The columns of poses, velocities, forces and inputs, in this order.
pub(super) fn all(
    world: &mut World,
    (layout, inputs): (&Layout, &[Input]),
    solved: &Solved,
    (inner, whole): (&Derivative<'_>, f64),
) -> Result<Vec<Column>, DifferentiateError> {
    let (h, n) = (solved.h, layout.len());
    let speed = solved.assembly.problem.velocity_scale();
    let speed = if 0.0 < speed { speed } else { 1.0 };
    let fastest = layout
        .coordinates(world)
        .iter()
        .fold(speed, |m, x| m.max(x.abs()));
    if !(fastest <= FASTEST) {
        let what = "a state whose numbers leave no room for differences";
        return Err(DifferentiateError::Unsupported { what });
    }
    let mut sampler = Sampler::new(world, solved, (inner, whole));
    let mut columns = Vec::with_capacity(3 * n + inputs.len());
    for at in 0..n {
        let coordinate = layout.coordinate(at);
        let size = match coordinate {
            Coordinate::Body(i, k) if k < 3 && 0.0 < world.radius[i] => world.radius[i],
            _ => 1.0,
        };
        let touches = sampler.touches(coordinate);
        columns.push(
            sampler.difference(world, STEP * size, touches, |world, base, by| {
                world.shift_pose(base, coordinate, by);
            })?,
        );
    }
    for at in 0..n {
        let coordinate = layout.coordinate(at);
        columns.push(
            sampler.difference(world, STEP * speed, false, |world, base, by| {
                world.shift_velocity(base, coordinate, by);
            })?,
        );
    }
    let places = places(world, layout, solved);
    columns.extend(places.iter().map(|place| Column {
        p: place.map(|place| (place, h)).into_iter().collect(),
        ..Column::default()
    }));
    for input in inputs {
        let value = input
            .get(&sampler.base)
            .expect("inputs that are not there were refused before");
        let size = if value == 0.0 { 1.0 } else { value.abs() };
        // What cannot be negative is moved upwards only where it is zero.
        sampler.one_sided = input.is_positive() && value == 0.0;
        columns.push(
            sampler.difference(world, STEP * size, false, |world, base, by| {
                if let Input::Mass(body) = input {
                    world.bodies.mass[body.index()] = base.bodies.mass[body.index()];
                    world.bodies.inertia[body.index()] = base.bodies.inertia[body.index()];
                }
                input.set(world, value + by);
            })?,
        );
    }
    Ok(columns)
}

/// The velocity in the problem that each number of the layout is; none for bodies that impulses do not move.
pub(super) fn places(world: &World, layout: &Layout, solved: &Solved) -> Vec<Option<usize>> {
    let own = &solved.assembly.bodies;
    let mut places = Vec::with_capacity(layout.len());
    for id in layout.bodies() {
        let place = own.binary_search_by_key(&id.0, |id| id.0).ok();
        places.extend((0..6).map(|k| place.map(|place| 6 * place + k)));
    }
    let mut at = 6 * own.len();
    for robot in world.robots() {
        let n = robot.tree().n_dofs();
        places.extend((at..at + n).map(Some));
        at += n;
    }
    places
}

impl<'a> Sampler<'a> {
    fn new(
        world: &World,
        solved: &'a Solved,
        (inner, whole): (&Derivative<'_>, f64),
    ) -> Sampler<'a> {
        let problem = &solved.assembly.problem;
        let mut closed = vec![false; problem.n_rows()];
        for (block, mode) in problem.blocks().iter().zip(inner.modes()) {
            closed[block.rows()].fill(mode != Mode::Open);
        }
        let mut pushes = vec![false; solved.contacts.len()];
        let blocks = &problem.blocks()[solved.assembly.first_contact..];
        for (block, contact) in blocks.iter().zip(&solved.assembly.contacts) {
            pushes[*contact] = closed[block.start];
        }
        let mut base = world.clone();
        base.spare.halvings = world.spare.halvings;
        Sampler {
            base,
            h: solved.h,
            whole,
            contacts: &solved.contacts,
            keys: &solved.assembly.keys,
            answer: &solved.solution,
            closed,
            pushes,
            centre: sample(problem, &solved.solution),
            room: Room::default(),
            one_sided: false,
        }
    }

    /// Whether a pose moves one of the contacts.
    fn touches(&self, coordinate: Coordinate) -> bool {
        let is_on = |body: usize| match coordinate {
            Coordinate::Body(i, _) => i == body,
            Coordinate::Robot(r, _) => {
                let link = self.base.link_of(body);
                link.is_some_and(|link| link.robot.index() == r)
            }
        };
        let mut contacts = self.contacts.iter();
        contacts.any(|point| is_on(point.bodies.0) || is_on(point.bodies.1))
    }

    /// The central difference along what `shift` moves; one-sided where a side has other rows.
    fn difference(
        &mut self,
        world: &mut World,
        step: f64,
        collides: bool,
        shift: impl Fn(&mut World, &World, f64),
    ) -> Result<Column, DifferentiateError> {
        let mut sides = [None, None];
        for (side, by) in sides.iter_mut().zip([step, -step]) {
            if by < 0.0 && self.one_sided {
                continue;
            }
            shift(world, &self.base, by);
            *side = self.sample_at(world, collides)?;
        }
        shift(world, &self.base, 0.0);
        Ok(self.slopes(&sides, step))
    }

    fn slopes(&self, sides: &[Option<Sample>; 2], step: f64) -> Column {
        let centre = Some(&self.centre);
        let [plus, minus] = [sides[0].as_ref(), sides[1].as_ref()];
        let (ends, width) = match (plus, minus) {
            (Some(plus), Some(minus)) => ((plus, minus), 2.0 * step),
            (Some(plus), None) => ((plus, &self.centre), step),
            (None, Some(minus)) => ((&self.centre, minus), step),
            (None, None) => ((&self.centre, &self.centre), step),
        };
        let (after, before) = ends;
        let is_lost = |side: Option<&Sample>| side.is_none_or(|side| side.lost);
        let mut column = Column {
            kink: match self.one_sided {
                true => is_lost(plus),
                false => is_lost(plus) || is_lost(minus),
            },
            ..Column::default()
        };
        let slope = |a: f64, b: f64| (a - b) / width;
        let entries = |a: &[f64], b: &[f64]| -> Vec<(usize, f64)> {
            let pairs = a.iter().zip(b).enumerate();
            let changed = pairs.filter(|(_, (a, b))| a != b);
            changed.map(|(i, (a, b))| (i, -slope(*a, *b))).collect()
        };
        column.p = entries(&after.f, &before.f);
        column.q = entries(&after.w, &before.w);
        for (k, (a, b)) in after.laws.iter().zip(&before.laws).enumerate() {
            if a != b {
                let number = |i: usize| match a[i].is_finite() && b[i].is_finite() {
                    true => slope(a[i], b[i]),
                    false => 0.0,
                };
                column.law.push((k, std::array::from_fn(number)));
            }
        }
        if let (Some(plus), Some(minus), Some(centre)) = (plus, minus, centre) {
            let all = |_: usize| true;
            let bends = bend((&plus.f, &minus.f, &centre.f), all)
                || bend((&plus.w, &minus.w, &centre.w), |i| self.closed[i]);
            column.kink |= bends;
        }
        column
    }

    /// F, W and laws of the world as it is now; `None` where it has other rows.
    fn sample_at(
        &mut self,
        world: &mut World,
        collides: bool,
    ) -> Result<Option<Sample>, DifferentiateError> {
        let (contacts, lost) = match collides {
            true => self.followed(world)?,
            false => (self.contacts.to_vec(), false),
        };
        let given = world.put_loads(self.whole);
        let room = std::mem::take(&mut self.room);
        let assembly = assemble::assemble(world, self.h, &contacts, room);
        world.take_loads(given);
        let assembly = assembly.map_err(StepError::from)?;
        let same = assembly.keys == self.keys
            && assembly.problem.n_velocities() == self.answer.v.len()
            && assembly.problem.n_rows() == self.answer.lambda.len();
        let found = same.then(|| Sample {
            lost,
            ..sample(&assembly.problem, self.answer)
        });
        self.room = assembly.recycle();
        Ok(found)
    }

    /// The contacts of the step at the present pose, each by its feature, and whether one that pushes is not there.
    fn followed(&self, world: &mut World) -> Result<(Vec<ContactPoint>, bool), StepError> {
        let now = world.collide(self.h, Find::Anew)?;
        let by_feature: HashMap<_, _> = now.iter().map(|p| ((p.colliders, p.id), p)).collect();
        let mut lost = false;
        let mut followed = Vec::with_capacity(self.contacts.len());
        for (point, pushes) in self.contacts.iter().zip(&self.pushes) {
            match by_feature.get(&(point.colliders, point.id)) {
                Some(found) if found.bodies == point.bodies => followed.push(**found),
                _ => {
                    lost |= *pushes;
                    followed.push(*point);
                }
            }
        }
        world.give_back(now);
        Ok((followed, lost))
    }
}

/// Whether slopes to both sides differ in a place that counts.
fn bend((plus, minus, centre): (&[f64], &[f64], &[f64]), counts: impl Fn(usize) -> bool) -> bool {
    let (mut second, mut first, mut size) = (0.0_f64, 0.0_f64, 0.0_f64);
    for i in (0..centre.len()).filter(|i| counts(*i)) {
        second = second.max((plus[i] - 2.0 * centre[i] + minus[i]).abs());
        first = first.max((plus[i] - minus[i]).abs());
        size = size.max(plus[i].abs()).max(centre[i].abs());
    }
    // Rounding of three numbers is no kink.
    KINK * first + 1e-9 * size < second
}

/// F = M v − p − Gᵀλ and W = G v + Σλ − q at an answer.
fn sample(problem: &Problem, answer: &Solution) -> Sample {
    let mut w = vec![0.0; problem.n_rows()];
    problem.row_velocity(&answer.v, &answer.lambda, &mut w);
    let mut f = vec![0.0; problem.n_velocities()];
    if let Form::Primal(primal) = problem.form() {
        for (k, block) in problem.blocks().iter().enumerate() {
            primal.add_block_impulse(k, &answer.lambda[block.rows()], &mut f);
        }
        let mut momentum = vec![0.0; f.len()];
        for (b, mass) in primal.mass().iter().enumerate() {
            let columns = primal.columns(b);
            mass.mul(&answer.v[columns.clone()], &mut momentum[columns]);
        }
        for ((f, momentum), p) in f.iter_mut().zip(&momentum).zip(primal.p()) {
            *f = momentum - p - *f;
        }
    }
    let laws = problem.blocks().iter().map(|block| block.law.numbers());
    Sample {
        f,
        w,
        laws: laws.collect(),
        lost: false,
    }
}
