//! Who touches whom: shapes, masks, pairs and exclusions.

use std::collections::HashSet;

use super::super::ImportError;
use super::Reader;
use super::element::Element;
use super::geom::{Files, Geom, Outside};
use crate::collide::{Groups, Shape};
use crate::index::LinkId;
use crate::world::{ContactRule, ShapeModel, Surface};

/// Groups of shapes that one bit each can tell apart; the last stands for all others.
const MOST: usize = 32;

/// Two shapes, and the surface between them.
type Pair = (usize, usize, Surface);

impl<'a> Reader<'a> {
    /// Shapes of all bodies, the ground first, and pairs with a surface of their own.
    pub(super) fn shapes(&mut self) -> Result<(Vec<ShapeModel>, Vec<Pair>), ImportError> {
        let pairs = self.pairs()?;
        let paired = |i: usize| pairs.iter().any(|(a, b, _)| *a == i || *b == i);
        let off = self.options.is_off("contact");
        // Where each geom is among the shapes.
        let mut numbers = vec![None; self.geoms.len()];
        let mut shapes = Vec::new();
        let geoms = std::mem::take(&mut self.geoms);
        for (i, (body, geom)) in geoms.iter().enumerate() {
            if off || !(geom.collides() || paired(i)) {
                continue;
            }
            let seat = self.seats[*body];
            let Some(shape) = self.outside(geom)? else {
                continue;
            };
            if shape.is_static_only() && seat.moves {
                let what = "only what does not move can be a plane or a height field";
                return Err(geom.element().fault(what));
            }
            numbers[i] = Some(shapes.len());
            shapes.push(ShapeModel {
                link: seat.link,
                pose: seat.frame.then(&geom.pose),
                shape,
                surface: Some(geom.surface()),
                rule: Some(geom.rule),
                groups: Groups::default(),
            });
        }
        let found = |&(a, b, surface): &Pair| Some((numbers[a]?, numbers[b]?, surface));
        let named: Vec<Pair> = pairs.iter().filter_map(found).collect();
        let masks = geoms.iter().zip(&numbers).filter(|(_, n)| n.is_some());
        let masks: Vec<(u32, u32)> = masks
            .map(|((_, geom), _)| (geom.contype, geom.conaffinity))
            .collect();
        self.group(&mut shapes, &masks, &named);
        self.geoms = geoms;
        Ok((shapes, named))
    }

    /// The shape of a geom; none where it is lost.
    fn outside(&mut self, geom: &Geom<'a>) -> Result<Option<Shape>, ImportError> {
        let compiler = self.compiler(geom.element());
        let mut files = Files {
            assets: &mut self.assets,
            folder: self.folder,
        };
        match geom.outside(compiler, &mut files) {
            Ok((shape, remark)) => {
                if let Some(text) = remark {
                    self.note(geom.element(), text);
                }
                Ok(Some(shape))
            }
            Err(Outside::Fault(error)) => Err(error),
            Err(Outside::Lost(why)) => {
                self.lose(geom.element(), format!("the shape of a geom ({why})"));
                Ok(None)
            }
        }
    }

    /// Two geoms meet where contype of one has a bit of conaffinity of the other, or where they are a pair. Geoms that
    /// meet the same ones are one group here.
    fn group(&mut self, shapes: &mut [ShapeModel], masks: &[(u32, u32)], pairs: &[Pair]) {
        let mut partners = vec![HashSet::new(); shapes.len()];
        for &(a, b, _) in pairs {
            partners[a].insert(b);
            partners[b].insert(a);
        }
        let meet = |a: usize, b: usize| {
            let ((type_a, with_a), (type_b, with_b)) = (masks[a], masks[b]);
            type_a & with_b != 0 || type_b & with_a != 0 || partners[a].contains(&b)
        };
        let row = |i: usize| -> Vec<bool> { (0..shapes.len()).map(|k| meet(i, k)).collect() };
        let (mut groups, mut of) = (Vec::new(), Vec::new());
        for i in 0..shapes.len() {
            let met = row(i);
            let found = groups.iter().position(|known| *known == met);
            of.push(found.unwrap_or(groups.len()));
            if found.is_none() {
                groups.push(met);
            }
            if MOST < groups.len() {
                let what = format!("geoms that meet others in more than {MOST} ways");
                return self.lose(self.root, what);
            }
        }
        for (shape, &group) in shapes.iter_mut().zip(&of) {
            let met = groups[group].iter().zip(&of).filter(|(met, _)| **met);
            shape.groups = Groups {
                member: 1 << group,
                with: met.fold(0, |bits, (_, other)| bits | 1 << other),
            };
        }
    }

    fn pairs(&mut self) -> Result<Vec<Pair>, ImportError> {
        let mut pairs = Vec::new();
        let root = self.root;
        for element in root.section("contact").filter(|e| e.tag == "pair") {
            let view = self.defaults.view(element, &["pair"], None)?;
            let (a, b) = (self.geom(element, "geom1")?, self.geom(element, "geom2")?);
            let both = ContactRule::mixed(self.geoms[a].1.rule, self.geoms[b].1.rule);
            let condim = view.whole("condim", i64::from(both.condim))?;
            if !matches!(condim, 1 | 3 | 4 | 6) {
                let what = format!("condim is {condim}; it is 1, 3, 4 or 6");
                return Err(element.fault(what));
            }
            // Two sliding, one spinning, two rolling.
            let [slide, spin, roll] = both.friction;
            let friction = view.padded("friction", [slide, slide, spin, roll, roll])?;
            if friction.iter().any(|mu| *mu < 0.0) {
                return Err(element.fault("friction must not be negative"));
            }
            if friction[0] != friction[1]
                && view
                    .get("friction")
                    .is_some_and(|f| 1 < f.split_whitespace().count())
            {
                let text =
                    "<pair friction>: the first of two sliding coefficients is used".to_owned();
                self.note(element, text);
            }
            let rule = ContactRule {
                friction: [friction[0], friction[2], friction[3]],
                condim: condim as u8,
                priority: 0,
            };
            pairs.push((a, b, rule.surface()));
        }
        Ok(pairs)
    }

    /// The geom that a pair names.
    fn geom(&self, element: &Element, attribute: &str) -> Result<usize, ImportError> {
        let name = element.text(attribute)?;
        let found = self
            .geoms
            .iter()
            .position(|(_, g)| g.element().name() == name);
        found.ok_or_else(|| element.fault(format!("geom \"{name}\" does not exist")))
    }

    /// Bodies that never touch each other.
    pub(super) fn apart(&mut self) -> Result<Vec<[Option<LinkId>; 2]>, ImportError> {
        let mut apart = Vec::new();
        for element in self.root.section("contact").filter(|e| e.tag == "exclude") {
            let link = |attribute: &str| {
                let name = element.text(attribute)?;
                let seat = self.body(name).map(|seat| seat.link);
                seat.ok_or_else(|| element.fault(format!("body \"{name}\" does not exist")))
            };
            apart.push([link("body1")?, link("body2")?]);
        }
        Ok(apart)
    }
}
