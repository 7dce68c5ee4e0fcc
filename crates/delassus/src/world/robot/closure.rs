//! Loop closures of a robot and their constraint rows.

use glam::DVec3;

use crate::index::LinkId;
use crate::tree::spatial::Pose;
use crate::tree::{Data, LinkName, Offsets, Tree, TreeError, TreeRows};

/// One closed loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Closure {
    /// Name in the file, or empty.
    pub name: String,
    /// What is held together.
    pub kind: ClosureKind,
}

/// A point of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Anchor {
    /// The link; `None` is the ground.
    pub link: Option<LinkId>,
    /// The point in its frame \[m\].
    pub point: DVec3,
}

impl Anchor {
    /// The same where the ground has moved.
    pub(super) fn moved(self, base: &Pose) -> Anchor {
        match self.link {
            Some(_) => self,
            None => Anchor {
                point: base.point(self.point),
                ..self
            },
        }
    }
}

/// A tree in a configuration, with the poses that follow from it.
#[derive(Clone, Copy, Debug)]
pub struct Posed<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Its poses.
    pub data: &'a Data,
    /// Its configuration.
    pub q: &'a [f64],
}

/// What a closure holds together. A link `None` is the ground.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ClosureKind {
    /// Two points.
    Connect {
        /// The first.
        a: Anchor,
        /// The second.
        b: Anchor,
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
    /// y = Σ_k c_k x^k between the displacements y and x of two joints of one dof, or y = c₀.
    Joint {
        /// The link whose joint has the displacement y.
        dependent: LinkId,
        /// The link whose joint has the displacement x.
        on: Option<LinkId>,
        /// c₀ … c₄.
        coefficients: [f64; 5],
    },
    /// The same between two weighted sums of displacements, Σ aᵢ qᵢ, of joints of one dof.
    Sums {
        /// Links whose joints make y, with their factors.
        dependent: Vec<(LinkId, f64)>,
        /// Links whose joints make x, with their factors.
        on: Vec<(LinkId, f64)>,
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
            ClosureKind::Joint { .. } | ClosureKind::Sums { .. } => 1,
        }
    }

    /// Adds its errors alone: those of [`ClosureKind::add_rows`].
    pub(super) fn add_gaps(&self, posed: Posed<'_>, gap: &mut Vec<f64>) -> Result<(), TreeError> {
        match *self {
            ClosureKind::Sums {
                ref dependent,
                ref on,
                coefficients: c,
            } => gap.push(posed.sum(dependent)? - polynomial(c, posed.sum(on)?).0),
            // g = x_a − x_b, in world axes.
            ClosureKind::Connect { a, b } => {
                gap.extend((posed.point(a)? - posed.point(b)?).to_array());
            }
            ClosureKind::Weld { a, b, relative } => {
                let (first, second) = (posed.frame(a)?.then(&relative), posed.frame(b)?);
                // g = x_a − x_b for the origins, and for the axes the vector of R_a R_bᵀ: half its skew part.
                gap.extend((first.position - second.position).to_array());
                let turn = first.rotation * second.rotation.transpose();
                let skew = turn - turn.transpose();
                let vector = DVec3::new(skew.y_axis.z, skew.z_axis.x, skew.x_axis.y);
                gap.extend((0.5 * vector).to_array());
            }
            ClosureKind::Joint {
                dependent,
                on,
                coefficients: c,
            } => {
                let x = on.map_or(Ok(0.0), |link| Ok(posed.displacement(link)?.0));
                gap.push(posed.displacement(dependent)?.0 - polynomial(c, x?).0);
            }
        }
        Ok(())
    }

    /// Adds its rows for the poses of `data`, and its errors to `gap`: row velocities are the rates of the errors,
    /// for a weld as long as the error is small.
    pub fn add_rows(
        &self,
        posed: Posed<'_>,
        rows: &mut TreeRows,
        gap: &mut Vec<f64>,
    ) -> Result<(), TreeError> {
        let Posed { tree, data, .. } = posed;
        self.add_gaps(posed, gap)?;
        match *self {
            ClosureKind::Sums {
                ref dependent,
                ref on,
                coefficients: c,
            } => {
                let slope = polynomial(c, posed.sum(on)?).1;
                rows.start();
                posed.add_sum(rows, dependent, 1.0)?;
                posed.add_sum(rows, on, -slope)
            }
            ClosureKind::Connect { a, b } => {
                let ends = [(a.link, posed.point(a)?), (b.link, posed.point(b)?)];
                tree.add_meeting(data, rows, ends)
            }
            ClosureKind::Weld { a, b, relative } => {
                let (first, second) = (posed.frame(a)?.then(&relative), posed.frame(b)?);
                tree.add_meeting(data, rows, [(a, first.position), (b, second.position)])?;
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
                let on = on.map(|link| posed.displacement(link)).transpose()?;
                let slope = polynomial(c, on.map_or(0.0, |(x, _)| x)).1;
                rows.start();
                tree.add_dof(data, rows, posed.displacement(dependent)?.1, 1.0)?;
                match on {
                    Some((_, dof)) => tree.add_dof(data, rows, dof, -slope),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Posed<'_> {
    /// The frame of a link; the ground's is the world's.
    pub(super) fn frame(&self, link: Option<LinkId>) -> Result<Pose, TreeError> {
        link.map_or(Ok(Pose::IDENTITY), |link| self.tree.pose(self.data, link))
    }

    /// Where a point of a link is.
    pub(super) fn point(&self, anchor: Anchor) -> Result<DVec3, TreeError> {
        Ok(self.frame(anchor.link)?.point(anchor.point))
    }

    /// Σ aᵢ qᵢ over joints of one dof.
    pub(super) fn sum(&self, terms: &[(LinkId, f64)]) -> Result<f64, TreeError> {
        let mut sum = 0.0;
        for &(link, factor) in terms {
            sum += factor * self.displacement(link)?.0;
        }
        Ok(sum)
    }

    /// Adds its rate, times a factor, to the row started last.
    pub(super) fn add_sum(
        &self,
        rows: &mut TreeRows,
        terms: &[(LinkId, f64)],
        times: f64,
    ) -> Result<(), TreeError> {
        for &(link, factor) in terms {
            let (_, dof) = self.displacement(link)?;
            self.tree.add_dof(self.data, rows, dof, times * factor)?;
        }
        Ok(())
    }

    /// The displacement of a joint of one dof, and which velocity is its rate.
    pub(super) fn displacement(&self, link: LinkId) -> Result<(f64, usize), TreeError> {
        let links = self.tree.links();
        let unknown = TreeError::UnknownLink {
            link,
            count: links.len(),
        };
        let Offsets { q: at, v: dof } = self.tree.offsets(link).ok_or(unknown)?;
        let carrier = &links[link.index()];
        if carrier.joint.dofs() != 1 {
            return Err(TreeError::BadValue {
                link: LinkName {
                    id: link,
                    name: carrier.name.clone(),
                },
                what: "number of dofs of the joint",
                value: carrier.joint.dofs() as f64,
                needs: "one, where a closure ties its displacement to another",
            });
        }
        let q = self.q.get(at).ok_or(TreeError::WrongLength {
            what: "configuration",
            expected: self.tree.n_coordinates(),
            found: self.q.len(),
        })?;
        Ok((*q, dof))
    }
}

/// Σ_k c_k x^k and its slope Σ_k k c_k x^(k−1), by Horner's rule: g = y − value and ġ = ẏ − slope ẋ.
fn polynomial(c: [f64; 5], x: f64) -> (f64, f64) {
    let value = c.iter().rev().fold(0.0, |sum, c| sum * x + c);
    let slope = (1..5).rev().fold(0.0, |sum, k| sum * x + k as f64 * c[k]);
    (value, slope)
}
