//! Loop closures of a robot and their constraint rows.

use glam::DVec3;

use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Data, Rows, Tree, TreeError};

/// One closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    /// Name in the file, or empty.
    pub name: String,
    /// What is held together.
    pub kind: ClosureKind,
}

/// What a closure holds together. A link `None` is the ground.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClosureKind {
    /// Two points, each in the frame of its link.
    Connect {
        /// First link and point.
        a: (Option<LinkId>, DVec3),
        /// Second link and point.
        b: (Option<LinkId>, DVec3),
    },
    /// Two frames.
    Weld {
        /// First link.
        a: Option<LinkId>,
        /// Second link.
        b: Option<LinkId>,
        /// The second link's frame in the first's.
        relative: Pose,
    },
    /// y = Σ_k c_k x^k between a coordinate y and a coordinate x, or y = c₀.
    Joint {
        /// Coordinate y and its velocity.
        dependent: (usize, usize),
        /// Coordinate x and its velocity.
        on: Option<(usize, usize)>,
        /// c₀ … c₄.
        coefficients: [f64; 5],
    },
}

impl ClosureKind {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            ClosureKind::Connect { .. } => 3,
            ClosureKind::Weld { .. } => 6,
            ClosureKind::Joint { .. } => 1,
        }
    }

    /// Adds its rows for the poses of `data`, and its errors to `gap`: row velocities are the rates of the errors,
    /// for a weld as long as the error is small.
    pub fn add_rows(
        &self,
        (tree, data, q): (&Tree, &Data, &[f64]),
        rows: &mut Rows,
        gap: &mut Vec<f64>,
    ) -> Result<(), TreeError> {
        let frame = |link: Option<LinkId>| match link {
            Some(link) => tree.pose(data, link),
            None => Ok(Pose::IDENTITY),
        };
        match *self {
            ClosureKind::Connect { a, b } => {
                let points = (frame(a.0)?.point(a.1), frame(b.0)?.point(b.1));
                gap.extend((points.0 - points.1).to_array());
                linear(tree, data, rows, [(a.0, points.0), (b.0, points.1)])
            }
            ClosureKind::Weld { a, b, relative } => {
                let (first, second) = (frame(a)?.then(&relative), frame(b)?);
                gap.extend((first.position - second.position).to_array());
                linear(
                    tree,
                    data,
                    rows,
                    [(a, first.position), (b, second.position)],
                )?;
                // The turn that takes the second frame to the first, as a vector: half the skew part.
                let turn = first.rotation * second.rotation.transpose();
                let skew = turn - turn.transpose();
                let vector = DVec3::new(skew.y_axis.z, skew.z_axis.x, skew.x_axis.y);
                gap.extend((0.5 * vector).to_array());
                for axis in DVec3::AXES {
                    rows.start();
                    for (link, sign) in [(a, 1.0), (b, -1.0)] {
                        if let Some(link) = link {
                            tree.add_angular(rows, link, sign * axis)?;
                        }
                    }
                }
                Ok(())
            }
            ClosureKind::Joint {
                dependent,
                on,
                coefficients: c,
            } => {
                let x = on.map_or(0.0, |(at, _)| q[at]);
                let value = c.iter().rev().fold(0.0, |sum, c| sum * x + c);
                let slope = (1..5).rev().fold(0.0, |sum, k| sum * x + k as f64 * c[k]);
                gap.push(q[dependent.0] - value);
                rows.start();
                tree.add_dof(data, rows, dependent.1, 1.0)?;
                match on {
                    Some((_, dof)) => tree.add_dof(data, rows, dof, -slope),
                    None => Ok(()),
                }
            }
        }
    }
}

/// Three rows: the velocity of a point of one link against that of a point of another.
fn linear(
    tree: &Tree,
    data: &Data,
    rows: &mut Rows,
    [a, b]: [(Option<LinkId>, DVec3); 2],
) -> Result<(), TreeError> {
    for axis in DVec3::AXES {
        rows.start();
        for ((link, point), sign) in [(a, 1.0), (b, -1.0)] {
            if let Some(link) = link {
                tree.add_linear(data, rows, (link, point), sign * axis)?;
            }
        }
    }
    Ok(())
}
