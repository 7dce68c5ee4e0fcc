//! Asking a world where things are: rays and overlaps, at the poses of now.

use glam::{DQuat, DVec3};

use super::World;
use crate::collide::{
    Beam, CollideError, ColliderMeeting, ColliderOverlap, Groups, PlacedColliders, Shape,
};
use crate::index::BodyId;

/// A half-line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// Where it begins \[m\].
    pub origin: DVec3,
    /// Where it goes; need not be of length one.
    pub direction: DVec3,
    /// How far it reaches \[m\]; may be infinite.
    pub reach: f64,
}

impl Ray {
    /// Without end.
    pub const fn new(origin: DVec3, direction: DVec3) -> Ray {
        Ray {
            origin,
            direction,
            reach: f64::INFINITY,
        }
    }

    /// Refuses what is no ray.
    pub fn check(&self) -> Result<(), QueryError> {
        beam(self).map(|_| ())
    }

    /// The same, no longer than this \[m\].
    pub const fn within(self, reach: f64) -> Ray {
        Ray { reach, ..self }
    }
}

/// Which colliders are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filter<'a> {
    /// Those whose groups meet these.
    pub groups: Groups,
    /// Those on other bodies than these.
    pub without: &'a [BodyId],
}

/// Where a ray meets a collider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RayHit {
    /// The body.
    pub body: BodyId,
    /// Its collider, by position in [`World::colliders`].
    pub collider: usize,
    /// Distance from the origin \[m\]; zero where the ray begins inside a solid.
    pub distance: f64,
    /// The point in the world \[m\].
    pub point: DVec3,
    /// Outward normal there; against the ray where it begins inside.
    pub normal: DVec3,
}

/// A collider that a shape overlaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The body.
    pub body: BodyId,
    /// Its collider, by position in [`World::colliders`].
    pub collider: usize,
    /// Greatest depth \[m\].
    pub depth: f64,
    /// The deepest point of the shape \[m\].
    pub point: DVec3,
    /// The way out for the shape: moved by the depth along it, the shape is out at that point.
    pub normal: DVec3,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A ray that is none.
    #[error(
        "a ray from {origin} along {direction} with reach {reach}: give finite numbers, a direction with a length and a reach that is not negative"
    )]
    BadRay {
        /// Origin given.
        origin: DVec3,
        /// Direction given.
        direction: DVec3,
        /// Reach given.
        reach: f64,
    },
    /// A shape that cannot be asked for.
    #[error("half-spaces, meshes and height fields cannot be asked for; take a box or a hull")]
    GroundAsked,
    /// A shape or a pose that cannot be.
    #[error(transparent)]
    Collide(#[from] CollideError),
}

/// A world where it stands, prepared for many questions by a tree over its colliders.
///
/// ```
/// use delassus::math::DVec3;
/// use delassus::world::{Filter, Ray};
/// use delassus::scenes;
///
/// let world = scenes::build("stack:3")?.world;
/// let down = Ray::new(DVec3::new(0.1, 0.0, 100.0), -DVec3::Z);
/// let queries = world.queries()?;
/// let all = queries.cast_all(down, Filter::default())?;
/// assert_eq!(all.len(), 4, "three boxes and the ground");
/// assert_eq!(Some(all[0]), world.cast_ray(down, Filter::default())?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queries<'a> {
    world: &'a World,
    placed: PlacedColliders<'a>,
}

impl std::fmt::Debug for Queries<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queries")
            .field("colliders", &self.world.colliders.len())
            .finish_non_exhaustive()
    }
}

impl World {
    /// Prepares for many questions. One alone is asked more quickly by [`World::cast_ray`] and [`World::overlaps`].
    pub fn queries(&self) -> Result<Queries<'_>, QueryError> {
        self.ask(true)
    }

    /// The first collider that a ray meets. Solids are met from outside, meshes and height fields from both sides; of
    /// two at the same distance the one that was added first is told.
    pub fn cast_ray(&self, ray: Ray, filter: Filter<'_>) -> Result<Option<RayHit>, QueryError> {
        self.ask(false)?.cast(ray, filter)
    }

    /// All colliders that overlap a convex shape at a pose, in the order they were added.
    pub fn overlaps(
        &self,
        shape: Shape,
        pose: (DVec3, DQuat),
        filter: Filter<'_>,
    ) -> Result<Vec<Overlap>, QueryError> {
        self.ask(false)?.overlaps(shape, pose, filter)
    }

    fn ask(&self, with_tree: bool) -> Result<Queries<'_>, QueryError> {
        let pose = |i: usize| (self.bodies.position[i], self.bodies.orientation[i]);
        let placed = self.collisions.placed(pose, with_tree)?;
        Ok(Queries {
            world: self,
            placed,
        })
    }
}

impl Queries<'_> {
    /// The first collider that a ray meets: [`World::cast_ray`].
    pub fn cast(&self, ray: Ray, filter: Filter<'_>) -> Result<Option<RayHit>, QueryError> {
        let beam = beam(&ray)?;
        let keep = |collider: usize| self.keeps(collider, filter);
        let found = self.placed.first(&beam, ray.reach, &keep);
        Ok(found.map(|found| self.hit(&beam, found)))
    }

    /// All colliders that a ray meets, each where it meets it first, from near to far.
    pub fn cast_all(&self, ray: Ray, filter: Filter<'_>) -> Result<Vec<RayHit>, QueryError> {
        let beam = beam(&ray)?;
        let keep = |collider: usize| self.keeps(collider, filter);
        let found = self.placed.all(&beam, ray.reach, &keep);
        Ok(found.into_iter().map(|met| self.hit(&beam, met)).collect())
    }

    /// All colliders that overlap a convex shape: [`World::overlaps`].
    pub fn overlaps(
        &self,
        shape: Shape,
        pose: (DVec3, DQuat),
        filter: Filter<'_>,
    ) -> Result<Vec<Overlap>, QueryError> {
        if shape.is_static_only() {
            return Err(QueryError::GroundAsked);
        }
        let keep = |collider: usize| self.keeps(collider, filter);
        let found = self.placed.overlaps(shape, pose, &keep)?;
        let overlap = |found: ColliderOverlap| Overlap {
            body: self.body(found.collider),
            collider: found.collider,
            depth: found.depth,
            point: found.point,
            normal: found.normal,
        };
        Ok(found.into_iter().map(overlap).collect())
    }

    fn body(&self, collider: usize) -> BodyId {
        BodyId(self.world.colliders[collider].body as u32)
    }

    fn keeps(&self, collider: usize, filter: Filter<'_>) -> bool {
        let groups = self.world.colliders[collider].group;
        filter.groups.meet(groups) && !filter.without.contains(&self.body(collider))
    }

    fn hit(&self, beam: &Beam, found: ColliderMeeting) -> RayHit {
        RayHit {
            body: self.body(found.collider),
            collider: found.collider,
            distance: found.met.distance,
            point: beam.at(found.met.distance),
            normal: found.met.normal,
        }
    }
}

/// A ray with a direction of length one.
fn beam(ray: &Ray) -> Result<Beam, QueryError> {
    let Ray {
        origin,
        direction,
        reach,
    } = *ray;
    let unit = direction.try_normalize().filter(|_| direction.is_finite());
    match unit {
        Some(direction) if origin.is_finite() && 0.0 <= reach => Ok(Beam { origin, direction }),
        _ => Err(QueryError::BadRay {
            origin,
            direction,
            reach,
        }),
    }
}
