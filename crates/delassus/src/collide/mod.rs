//! Collision: shapes, and from the poses of bodies the points where they touch or may touch within the step.
//!
//! What it computes: for every pair of near shapes the contact points with their signed gaps and normals, reduced to
//! what a solver needs (at most four per flat patch), each with an id that lasts while the contact does.
//!
//! How: boxes in a tree give near pairs (`broad`); each pair is a pure function of its two poses (`narrow`): a
//! contact direction (`axis`, `sat`), the overlap of the faces that look at each other (`clip`), half-spaces by
//! support points (`plane`), meshes and height fields triangle by triangle with the surface as judge (`ground`), and
//! the reduction (`reduce`). Nothing depends on the step before except the tree and its list of near pairs, which the
//! boxes of the step and the sorted order hide: the same poses give the same contacts, to the bit. Where contacts are
//! kept while bodies hardly move (`kept`), the same poses and references do.
//!
//! Limits: solids may be convex or unions of convex colliders of one body; meshes have no inside; bodies that pass
//! each other entirely within a step are only seen if `reach` covers their motion.

mod axis;
mod broad;
mod clip;
mod course;
mod fall;
mod ground;
mod hull;
mod kept;
mod lane;
mod narrow;
mod plane;
mod query;
mod ray;
mod ready;
mod reduce;
mod sat;
mod shape;
mod solid;
mod surface;

use serde::{Deserialize, Serialize};

use crate::math::parallel::{self, CHUNK};
use crate::math::{DQuat, DVec3};

use broad::Broad;
pub(crate) use course::Course;
pub(crate) use fall::{Standing, land};
use kept::Kept;
use lane::{Lane, Stage};
use narrow::Solid;
pub(crate) use query::{ColliderMeeting, ColliderOverlap, Placed as PlacedColliders};
pub(crate) use ray::Beam;
use ready::{Ready, prepare};
use solid::PoseMatrix;

pub(crate) use kept::References;
pub use shape::{MAX_HULL_POINTS, MAX_SIZE, MAX_TRIANGLES, MIN_SIZE, Shape, ShapeError};
pub use surface::Triangles;

/// Contacts are reported up to this share of the smaller solid beyond the bodies' reach, so that resting ones stay.
const MARGIN: f64 = 1e-3;

/// Which colliders meet: two do if each is a member of a group that the other collides with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Groups this collider belongs to, one bit each.
    pub member: u32,
    /// Groups it collides with.
    pub with: u32,
}

impl Default for Groups {
    fn default() -> Groups {
        Groups {
            member: u32::MAX,
            with: u32::MAX,
        }
    }
}

impl Groups {
    /// No group: a collider of it meets nothing.
    pub const NONE: Groups = Groups { member: 0, with: 0 };

    /// Whether colliders of these groups meet.
    pub fn meet(self, other: Groups) -> bool {
        self.member & other.with != 0 && other.member & self.with != 0
    }
}

/// A shape fixed to a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collider {
    /// The outside.
    pub shape: Shape,
    /// Number of the body that carries it: where its pose stands in [`Collisions::update`].
    pub body: usize,
    /// Position \[m\] and rotation in the body's frame.
    pub pose: (DVec3, DQuat),
    /// Which others it collides with.
    pub group: Groups,
}

impl Collider {
    /// A shape at the origin of a body, that collides with everything.
    pub fn new(shape: Shape, body: usize) -> Collider {
        Collider {
            shape,
            body,
            pose: (DVec3::ZERO, DQuat::IDENTITY),
            group: Groups::default(),
        }
    }
}

/// One contact point of two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// Bodies (a, b); a body that cannot move is b.
    pub bodies: (usize, usize),
    /// Their colliders, by position in the list given to [`Collisions::new`].
    pub colliders: (u32, u32),
    /// On the surface of a, in the world \[m\].
    pub point_a: DVec3,
    /// On the surface of b, in the world \[m\].
    pub point_b: DVec3,
    /// Unit normal, from b to a.
    pub normal: DVec3,
    /// Distance along the normal; negative in penetration \[m\].
    pub gap: f64,
    /// The same for as long as the same features of the same colliders touch.
    pub id: u64,
}

/// Why contacts cannot be computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CollideError {
    /// A shape that cannot be used.
    #[error("collider {collider} on body {body}: {reason}")]
    BadShape {
        /// The collider.
        collider: usize,
        /// Its body.
        body: usize,
        /// What is wrong.
        reason: ShapeError,
    },
    /// A pose that is no pose.
    #[error(
        "{place} stands at {position} with rotation {rotation}; numbers must be finite, lengths at most {MAX_SIZE:e} m, \
         the quaternion of length one"
    )]
    BadPose {
        /// Whose pose.
        place: String,
        /// Position given.
        position: DVec3,
        /// Rotation given.
        rotation: DQuat,
    },
    /// A reach that is negative or not a number.
    #[error("reach of body {body} is {reach}; it must lie between 0 and {MAX_SIZE:e} m")]
    BadReach {
        /// The body.
        body: usize,
        /// The value given.
        reach: f64,
    },
    /// An array that is too short for the bodies named by colliders.
    #[error("{what} has {found} entries but collider {collider} sits on body {body}")]
    MissingBody {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The collider.
        collider: usize,
        /// The body it names.
        body: usize,
    },
    /// More colliders than indices.
    #[error("{count} colliders are more than {} this build can index", u32::MAX)]
    TooMany {
        /// How many were given.
        count: usize,
    },
}

/// What changes per body and step.
#[derive(Clone, Copy)]
pub(crate) struct Poses<'a> {
    pub(crate) poses: &'a [(DVec3, DQuat)],
    pub(crate) movable: &'a [bool],
    pub(crate) reach: &'a [f64],
}

/// What the choice of pairs needs of a collider, and all that contacts of balls need, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Tag {
    centre: DVec3,
    /// Largest distance of a point of the collider from the centre, the radius of a ball; infinite for ground \[m\].
    size: f64,
    /// How far it may move in this step \[m\].
    reach: f64,
    body: u32,
    group: Groups,
    ball: bool,
    ground: bool,
    movable: bool,
}

/// Centre and half extents of a collider's box with all it may move in the step; none of a half-space.
type Bounds = Option<(DVec3, DVec3)>;

impl Tag {
    /// Of nothing, to be overwritten.
    const NONE: Tag = Tag {
        centre: DVec3::ZERO,
        size: 0.0,
        reach: 0.0,
        body: 0,
        group: Groups::NONE,
        ball: false,
        ground: true,
        movable: false,
    };

    /// How far from the centre the collider may touch something in this step \[m\].
    fn radius(&self) -> f64 {
        self.size * (1.0 + MARGIN) + self.reach
    }
}

/// Whether two bodies do not collide; asked from several threads.
pub type Excluded<'a> = dyn Fn(usize, usize) -> bool + Sync + 'a;

/// Colliders and their contacts, kept between steps.
#[derive(Clone, Debug)]
pub struct Collisions {
    colliders: Vec<Ready>,
    frames: Vec<PoseMatrix>,
    tags: Vec<Tag>,
    boxes: Vec<Bounds>,
    planes: Vec<u32>,
    broad: Broad,
    contacts: Vec<ContactPoint>,
    /// Contacts that somebody has given back, to be written over.
    room: Vec<ContactPoint>,
    lanes: Vec<Lane>,
    extra: Vec<(u32, u32)>,
    kept: Kept,
    /// Whether there are solids whose contacts take long to find.
    worth_keeping: bool,
    /// Size of the smallest solid that was ever there \[m\].
    least_size: f64,
}

impl Collisions {
    /// Checks and prepares colliders.
    pub fn new(colliders: Vec<Collider>) -> Result<Collisions, CollideError> {
        if u32::try_from(colliders.len()).is_err() {
            return Err(CollideError::TooMany {
                count: colliders.len(),
            });
        }
        let mut ready = Vec::with_capacity(colliders.len());
        for (i, collider) in colliders.into_iter().enumerate() {
            ready.push(prepare(i, collider)?);
        }
        let worth_keeping = ready.iter().any(|c| kept::is_costly(&c.solid));
        let least_size = ready.iter().fold(f64::INFINITY, |m, c| m.min(c.size));
        let is_plane = |&i: &u32| matches!(ready[i as usize].solid, Solid::Plane);
        Ok(Collisions {
            planes: (0..ready.len() as u32).filter(is_plane).collect(),
            frames: Vec::with_capacity(ready.len()),
            tags: Vec::with_capacity(ready.len()),
            boxes: Vec::with_capacity(ready.len()),
            colliders: ready,
            broad: Broad::default(),
            contacts: Vec::new(),
            room: Vec::new(),
            lanes: vec![Lane::default()],
            extra: Vec::new(),
            kept: Kept::default(),
            worth_keeping,
            least_size,
        })
    }

    /// Adds a collider behind all others.
    pub fn push(&mut self, collider: Collider) -> Result<(), CollideError> {
        let index = self.colliders.len();
        let Ok(number) = u32::try_from(index) else {
            return Err(CollideError::TooMany { count: index + 1 });
        };
        let ready = prepare(index, collider)?;
        if matches!(ready.solid, Solid::Plane) {
            self.planes.push(number);
        }
        self.worth_keeping |= kept::is_costly(&ready.solid);
        self.least_size = self.least_size.min(ready.size);
        self.colliders.push(ready);
        Ok(())
    }

    /// Takes a collider away; the numbers of the others stay.
    pub fn remove(&mut self, index: usize) {
        if let Some(collider) = self.colliders.get_mut(index) {
            collider.solid = Solid::Gone;
            collider.group = Groups::NONE;
            collider.ground = true;
            self.planes.retain(|plane| *plane as usize != index);
        }
    }

    /// Contacts at these poses, one per body, between all pairs of bodies that `excluded` does not name (bodies that
    /// are joined). Pairs of two bodies that are not `movable` (static or asleep) are skipped; `reach` is how far
    /// each body may move in this step \[m\]. On an error there are no contacts.
    pub fn update(
        &mut self,
        poses: &[(DVec3, DQuat)],
        movable: &[bool],
        reach: &[f64],
        excluded: &Excluded<'_>,
    ) -> Result<(), CollideError> {
        let motion = Poses {
            poses,
            movable,
            reach,
        };
        self.find(motion, None, excluded)
    }

    /// Contacts at these poses; those of pairs that have hardly moved since their bodies stood at the references are the
    /// ones found there, carried along. Poses and references alone decide what is found.
    pub(crate) fn update_kept(
        &mut self,
        motion: Poses<'_>,
        references: References<'_>,
        excluded: &Excluded<'_>,
    ) -> Result<(), CollideError> {
        self.find(motion, Some(references), excluded)
    }

    /// Whether contacts of some pair may take so long to find that they are worth keeping.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        self.worth_keeping
    }

    fn find(
        &mut self,
        motion: Poses<'_>,
        references: Option<References<'_>>,
        excluded: &Excluded<'_>,
    ) -> Result<(), CollideError> {
        self.contacts.clear();
        self.place(motion)?;
        if let Some(references) = references {
            self.kept.place(&self.colliders, references.poses);
        }
        self.broad.set(&self.boxes);
        self.over_planes(excluded);
        let Collisions {
            tags,
            colliders,
            frames,
            broad,
            contacts,
            room,
            lanes,
            extra,
            kept,
            ..
        } = self;
        let pairs = broad.pairs(extra, |i, j| admit(tags, excluded, (i, j)));
        // Each pair is a pure function of its poses, so that the length of a lane changes nothing.
        let length = parallel::share(pairs.len()).max(CHUNK);
        lanes.resize_with(pairs.len().div_ceil(length), Lane::default);
        let parts = pairs.chunks(length).zip(&mut *lanes);
        let stage = Stage {
            colliders,
            frames,
            tags,
            kept: references.map(|references| (&*kept, references)),
        };
        parallel::each(parts, |(pairs, lane)| lane.narrow(pairs, stage));
        if references.is_some() {
            kept.replace(lanes.iter_mut().map(|lane| &mut lane.kept));
        }
        *contacts = together(lanes, std::mem::take(room));
        Ok(())
    }

    /// The contacts of the last update, sorted by colliders and id.
    pub fn contacts(&self) -> &[ContactPoint] {
        &self.contacts
    }

    /// The same, taken out: none are left.
    pub(crate) fn take_contacts(&mut self) -> Vec<ContactPoint> {
        std::mem::take(&mut self.contacts)
    }

    /// Memory for the contacts of the next update.
    pub(crate) fn give_back(&mut self, contacts: Vec<ContactPoint>) {
        self.room = contacts;
    }

    /// Checks the arrays and places every collider in the world, with its box.
    fn place(&mut self, motion: Poses) -> Result<(), CollideError> {
        let count = self.colliders.len();
        self.frames
            .resize(count, PoseMatrix::new(DVec3::ZERO, DQuat::IDENTITY));
        self.tags.resize(count, Tag::NONE);
        self.boxes.resize(count, None);
        let frames = self
            .frames
            .chunks_mut(CHUNK)
            .zip(self.tags.chunks_mut(CHUNK));
        let parts = frames.zip(self.boxes.chunks_mut(CHUNK));
        let mut parts = parts.zip(self.colliders.chunks(CHUNK)).enumerate();
        let place = |(part, (((frames, tags), boxes), colliders)): (usize, (_, &[Ready]))| {
            let (frames, tags, boxes): (&mut [PoseMatrix], &mut [Tag], &mut [Bounds]) =
                (frames, tags, boxes);
            for (i, c) in colliders.iter().enumerate() {
                (frames[i], tags[i]) = c.placed(part * CHUNK + i, motion)?;
                boxes[i] = c.bounds(&frames[i], tags[i].reach);
            }
            Ok(())
        };
        if count <= CHUNK {
            return parts.try_for_each(place);
        }
        parallel::map(parts.collect(), place).into_iter().collect()
    }

    /// Pairs with half-spaces, by the distance of bounding spheres.
    fn over_planes(&mut self, excluded: &Excluded<'_>) {
        let Collisions {
            tags,
            frames,
            planes,
            extra,
            ..
        } = self;
        extra.clear();
        let (tags, frames, planes) = (&*tags, &*frames, &*planes);
        let over = |i: usize| {
            let tag = &tags[i];
            planes.iter().filter_map(move |&p| {
                let up = frames[p as usize].axes.z_axis;
                let plane = &tags[p as usize];
                let height = up.dot(tag.centre - plane.centre);
                let near = !tag.ground && height <= tag.radius() + plane.reach;
                near.then(|| admit(tags, excluded, (i as u32, p)))?
            })
        };
        let length = parallel::share(tags.len()).max(8 * CHUNK);
        if planes.is_empty() || tags.len() <= length {
            for i in 0..tags.len() {
                over(i).for_each(|pair| extra.push(pair));
            }
            return;
        }
        let parts = (0..tags.len()).step_by(length);
        let parts = parts.map(|start| start..tags.len().min(start + length));
        let found = parallel::map(parts.collect(), |part: std::ops::Range<usize>| {
            part.flat_map(over).collect::<Vec<_>>()
        });
        extra.extend(found.into_iter().flatten());
    }
}

/// The contacts of all lanes, in their order, written over old ones.
fn together(lanes: &mut [Lane], mut room: Vec<ContactPoint>) -> Vec<ContactPoint> {
    if let [lane] = lanes {
        return std::mem::replace(&mut lane.contacts, room);
    }
    let count = lanes.iter().map(|lane| lane.contacts.len()).sum();
    let Some(any) = lanes.iter().find_map(|lane| lane.contacts.first()) else {
        room.clear();
        return room;
    };
    room.resize(count, *any);
    let mut rest = &mut room[..];
    let parts = lanes.iter().map(|lane| {
        let own = rest.split_off_mut(..lane.contacts.len());
        (own.expect("there is room for all contacts"), lane)
    });
    parallel::each(parts, |(own, lane)| own.copy_from_slice(&lane.contacts));
    room
}

/// Whether two colliders may meet, and which of them is a.
fn admit(tags: &[Tag], excluded: &Excluded<'_>, (i, j): (u32, u32)) -> Option<(u32, u32)> {
    let (i, j) = (i.min(j), i.max(j));
    let (first, second) = (&tags[i as usize], &tags[j as usize]);
    let reach = first.radius() + second.radius();
    let far = reach * reach < first.centre.distance_squared(second.centre);
    let idle = !first.movable && !second.movable || first.ground && second.ground;
    if far || idle || first.body == second.body || !first.group.meet(second.group) {
        return None;
    }
    if excluded(first.body as usize, second.body as usize) {
        return None;
    }
    // The one that cannot move is b; of two that move, ground is.
    let swap = if first.movable == second.movable {
        first.ground
    } else {
        second.movable
    };
    Some(if swap { (j, i) } else { (i, j) })
}
