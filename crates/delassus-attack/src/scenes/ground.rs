//! The ground and the walls of drawn scenes: their text, and how far below or behind them a point lies.

use delassus::math::{DVec3, Random};

/// What everything falls on.
#[derive(Clone, Debug)]
pub(crate) enum Ground {
    /// z = 0.
    Plane,
    /// Hills over a square.
    Terrain(Terrain),
}

/// Heights over a square grid about the origin, each cell cut from its low corner to its high one.
#[derive(Clone, Debug)]
pub(crate) struct Terrain {
    /// Grid lines along each side.
    lines: usize,
    /// Length of a side \[m\].
    side: f64,
    heights: Vec<f64>,
}

impl Ground {
    /// Its highest point \[m\].
    pub(crate) fn top(&self) -> f64 {
        match self {
            Ground::Plane => 0.0,
            Ground::Terrain(terrain) => terrain.middle_top(),
        }
    }

    /// Distance of a point above the ground, negative below it \[m\]; none beside it, or farther above than `reach`.
    pub(crate) fn above(&self, p: DVec3, reach: f64) -> Option<f64> {
        match self {
            Ground::Plane => Some(p.z),
            Ground::Terrain(terrain) => terrain.above(p, reach),
        }
    }
}

impl Terrain {
    /// Hills of up to 0.3 m in a bowl that keeps bodies inside.
    pub(crate) fn draw(random: &mut Random) -> Terrain {
        let lines = 5 + random.below(12);
        let side = random.range(6.0, 12.0);
        let hill = random.range(0.0, 0.3);
        let at = |k: usize| (k as f64 / (lines - 1) as f64 - 0.5) * side;
        let mut heights = Vec::new();
        for row in 0..lines {
            for column in 0..lines {
                let bowl = (at(row).powi(2) + at(column).powi(2)) * 1.5 / side;
                heights.push(bowl + hill * random.range(-1.0, 1.0));
            }
        }
        Terrain {
            lines,
            side,
            heights,
        }
    }

    fn corner(&self, row: usize, column: usize) -> DVec3 {
        let at = |k: usize| (k as f64 / (self.lines - 1) as f64 - 0.5) * self.side;
        DVec3::new(at(column), at(row), self.heights[row * self.lines + column])
    }

    /// Highest point within 2 m of the middle, above which bodies are dropped \[m\].
    fn middle_top(&self) -> f64 {
        let all = (0..self.lines * self.lines).map(|k| self.corner(k / self.lines, k % self.lines));
        let near = all.filter(|c| c.x.abs() < 3.0 && c.y.abs() < 3.0);
        near.map(|c| c.z).fold(0.0, f64::max)
    }

    /// As a key of a shape.
    pub(crate) fn height_field(&self) -> String {
        let heights: Vec<String> = self.heights.iter().map(f64::to_string).collect();
        let (lines, side) = (self.lines, self.side);
        format!(
            "height-field = {{ rows = {lines}, columns = {lines}, heights = [{}], size = [{side}, {side}, 1] }}\n",
            heights.join(", ")
        )
    }

    /// The same surface as triangles.
    pub(crate) fn mesh(&self) -> String {
        let n = self.lines;
        let corners = (0..n * n).map(|k| self.corner(k / n, k % n));
        let vertices: Vec<String> = corners
            .map(|c| format!("[{}, {}, {}]", c.x, c.y, c.z))
            .collect();
        let mut triangles = Vec::new();
        for row in 0..n - 1 {
            for column in 0..n - 1 {
                let at = |r: usize, c: usize| (row + r) * n + column + c;
                let (low, high) = (at(0, 0), at(1, 1));
                triangles.push(format!("[{low}, {}, {high}]", at(0, 1)));
                triangles.push(format!("[{low}, {high}, {}]", at(1, 0)));
            }
        }
        format!(
            "mesh = {{ vertices = [{}], triangles = [{}] }}\n",
            vertices.join(", "),
            triangles.join(", ")
        )
    }

    /// The two triangles of a cell.
    fn cell(&self, row: usize, column: usize) -> [[DVec3; 3]; 2] {
        let low = self.corner(row, column);
        let high = self.corner(row + 1, column + 1);
        let (right, far) = (self.corner(row, column + 1), self.corner(row + 1, column));
        [[low, right, high], [low, high, far]]
    }

    fn above(&self, p: DVec3, reach: f64) -> Option<f64> {
        let step = self.side / (self.lines - 1) as f64;
        let place = |x: f64| (x + 0.5 * self.side) / step;
        let (u, v) = (place(p.x), place(p.y));
        let most = (self.lines - 1) as f64;
        if !(0.0 <= u && u < most && 0.0 <= v && v < most) {
            return None;
        }
        let (row, column) = (v as usize, u as usize);
        let triangle = self.cell(row, column)[usize::from(u.fract() < v.fract())];
        let [a, b, c] = triangle;
        let normal = (b - a).cross(c - a);
        // Height of the triangle's plane at (x, y): a_z − (n_x (x − a_x) + n_y (y − a_y)) / n_z.
        let height = a.z - (normal.x * (p.x - a.x) + normal.y * (p.y - a.y)) / normal.z;
        if height + reach < p.z {
            return None;
        }
        let (mut nearest, far) = (f64::INFINITY, (p.z - height).abs());
        let around = (far / step) as usize + 1;
        let range = |k: usize| k.saturating_sub(around)..(k + around + 1).min(self.lines - 1);
        for row in range(row) {
            for column in range(column) {
                for triangle in self.cell(row, column) {
                    nearest = nearest.min(distance(p, triangle));
                }
            }
        }
        Some(if p.z < height { -nearest } else { nearest })
    }
}

/// Distance of a point from a triangle: to its plane where the foot lies inside, else to the nearest edge.
fn distance(p: DVec3, corners: [DVec3; 3]) -> f64 {
    let [a, b, c] = corners;
    let normal = (b - a).cross(c - a).normalize_or_zero();
    let inside = [(a, b), (b, c), (c, a)]
        .iter()
        .all(|(from, to)| 0.0 <= (*to - *from).cross(p - *from).dot(normal));
    if inside {
        return (p - a).dot(normal).abs();
    }
    let edge = |from: DVec3, to: DVec3| {
        let along = to - from;
        let t = ((p - from).dot(along) / along.length_squared()).clamp(0.0, 1.0);
        (p - from - t * along).length()
    };
    edge(a, b).min(edge(b, c)).min(edge(c, a))
}

/// An upright wall, a box or a sheet of two triangles, with its middle plane at x = `WALL`.
#[derive(Clone, Debug)]
pub(crate) struct Wall {
    /// Half of its thickness \[m\]; none for a sheet.
    half: Option<f64>,
}

/// Where walls stand \[m\], and half of their breadth; they reach from the ground to twice that.
const WALL: f64 = 3.0;
const BREADTH: f64 = 4.0;

impl Wall {
    /// One in three is a sheet.
    pub(crate) fn draw(random: &mut Random) -> Wall {
        let half = match random.below(3) {
            0 => None,
            _ => Some(random.range(0.005_f64.ln(), 0.2_f64.ln()).exp()),
        };
        Wall { half }
    }

    /// As a body of a scene file.
    pub(crate) fn text(&self) -> String {
        let (b, top) = (BREADTH, 2.0 * BREADTH);
        let shape = match self.half {
            Some(half) => format!("box = {{ half = [{half}, {b}, {b}] }}"),
            None => format!(
                "mesh = {{ vertices = [[0, -{b}, -{b}], [0, {b}, -{b}], [0, {b}, {b}], [0, -{b}, {b}]], \
                 triangles = [[0, 1, 2], [0, 2, 3]] }}"
            ),
        };
        format!(
            "\n[[bodies]]\nname = \"wall\"\nmotion = \"static\"\nposition = [{WALL}, 0, {}]\n\
             [[bodies.shapes]]\nmaterial = \"stuff\"\n{shape}\n",
            0.5 * top
        )
    }

    /// Whether a centre is farther than this behind the middle plane.
    pub(crate) fn is_behind(&self, p: DVec3, by: f64) -> bool {
        WALL + by < p.x
    }

    /// Whether a centre went through: its path meets the middle plane at least a metre within the edges.
    pub(crate) fn is_crossed(&self, from: DVec3, to: DVec3) -> bool {
        let (before, after) = (from.x - WALL, to.x - WALL);
        if before * after > 0.0 || before == after {
            return false;
        }
        let met = from.lerp(to, before / (before - after));
        met.y.abs() < BREADTH - 1.0 && 0.0 < met.z && met.z < 2.0 * BREADTH - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_from_hills_and_walls_are_those_of_geometry() {
        let flat = Terrain {
            lines: 3,
            side: 4.0,
            heights: vec![0.5; 9],
        };
        let above = |z: f64| flat.above(DVec3::new(0.3, -0.7, z), 1.0);
        assert!((above(0.75).unwrap() - 0.25).abs() < 1e-12);
        assert!((above(0.1).unwrap() + 0.4).abs() < 1e-12);
        assert_eq!((above(2.0), flat.above(DVec3::X * 9.0, 1.0)), (None, None));
        // A ridge along y through x = 0, 45° on both sides: 1 m above it the slopes are 1/√2 m away... from the top, 1 m.
        let ridge = Terrain {
            lines: 3,
            side: 4.0,
            heights: vec![0.0, 2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0],
        };
        let over = |x: f64, z: f64| ridge.above(DVec3::new(x, 0.2, z), 9.0).unwrap();
        assert!((over(0.0, 3.0) - 1.0).abs() < 1e-12);
        assert!((over(1.0, 0.0) + 0.5_f64.sqrt()).abs() < 1e-12);
        let wall = Wall { half: None };
        let (near, far) = (DVec3::new(2.9, 0.0, 1.0), DVec3::new(3.1, 0.0, 1.0));
        assert!(wall.is_crossed(near, far) && !wall.is_crossed(near, near));
        assert!(!wall.is_crossed(near + DVec3::Y * 9.0, far + DVec3::Y * 9.0));
    }
}
