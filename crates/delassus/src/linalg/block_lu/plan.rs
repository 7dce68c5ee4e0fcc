//! Which nodes go when, which share a front, and where every block is: found once for a graph.

use crate::linalg::minimum_degree::{Gate, Graph};
use std::ops::Range;

/// Share of zeros that a front may hold so that nodes of nearly the same neighbours go together.
const ZEROS: f64 = 0.1;

/// A node of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// Unknowns.
    pub(crate) size: usize,
    /// The first of them, which are eliminated; the others follow from the leader's, or are zero.
    pub(crate) pivots: usize,
    /// Goes later.
    pub(crate) leader: Option<u32>,
}

impl Node {
    /// A node that follows no other.
    pub(crate) fn free(size: usize) -> Node {
        Node {
            size,
            pivots: size,
            leader: None,
        }
    }
}

/// Where the blocks of two nodes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    /// First number.
    pub(crate) at: usize,
    /// From row to row.
    pub(crate) stride: usize,
    /// Whether the second node goes first: then its unknowns are the rows.
    pub(crate) swapped: bool,
}

/// Unknowns that stay together on their way from one place to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) length: usize,
}

/// Pivots of one node in its front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) start: usize,
    pub(super) size: usize,
}

/// Nodes that are eliminated together.
#[derive(Clone, Debug, Default)]
pub(super) struct Front {
    /// First number, rows that are kept, pivots among them, and numbers a row.
    pub(super) at: usize,
    pub(super) rows: usize,
    pub(super) own: usize,
    pub(super) width: usize,
    /// First unknown in the order of elimination.
    pub(super) first: usize,
    pub(super) panels: Range<usize>,
    /// Runs from columns of the front to unknowns, and from what it leaves to columns of the front that takes it.
    pub(super) others: Range<usize>,
    pub(super) to_parent: Range<usize>,
    /// Fronts whose rests this one takes.
    pub(super) children: usize,
    /// Column and unknown of the leader, and T.
    pub(super) leader: usize,
    pub(super) leader_at: usize,
    pub(super) map: Range<usize>,
}

/// An order of elimination with its fronts.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) fronts: Vec<Front>,
    pub(super) panels: Vec<Panel>,
    pub(super) runs: Vec<Run>,
    /// First unknown of every node, for the caller and in the order of elimination; unknowns of every node.
    pub(super) moves: Vec<(usize, usize)>,
    pub(super) sizes: Vec<usize>,
    /// First number and length of T, of every node.
    pub(super) maps: Vec<(usize, usize)>,
    /// Front of every node, its first row there, and its place in the order.
    home: Vec<(u32, u32)>,
    place: Vec<u32>,
    /// Nodes of every front by place, with their columns.
    columns: Vec<Vec<(u32, u32)>>,
    pub(super) n_values: usize,
    pub(super) n_maps: usize,
    pub(super) n_unknowns: usize,
    /// Most numbers that wait on the stack, widest node and front.
    pub(super) highest: usize,
    pub(super) widest_node: usize,
    pub(super) widest_front: usize,
}

/// Holds leaders back until all who follow them are gone.
struct Leaders {
    leader: Vec<Option<u32>>,
    followers: Vec<usize>,
}

impl Gate for Leaders {
    fn may_go(&mut self, x: usize, _: usize) -> bool {
        self.followers[x] == 0
    }

    fn gone(&mut self, x: usize, _: &[usize]) {
        if let Some(leader) = self.leader[x] {
            self.followers[leader as usize] -= 1;
        }
    }
}

/// A node in the order of elimination: its later neighbours by place, ascending.
struct Eliminated {
    node: usize,
    later: Vec<u32>,
}

/// Nodes of a front, by place: own ones one after the other, others ascending.
struct Group {
    own: Range<usize>,
    others: Vec<u32>,
    /// Numbers that are zero for certain.
    zeros: usize,
}

impl Plan {
    /// Plans for nodes and pairs of nodes whose blocks are not zero.
    pub(super) fn new(nodes: &[Node], pairs: impl Iterator<Item = (u32, u32)>) -> Plan {
        let steps = order(nodes, pairs);
        let mut plan = Plan {
            sizes: nodes.iter().map(|node| node.size).collect(),
            moves: vec![(0, 0); nodes.len()],
            maps: vec![(0, 0); nodes.len()],
            home: vec![(0, 0); nodes.len()],
            place: vec![0; nodes.len()],
            widest_node: nodes.iter().map(|node| node.size).max().unwrap_or(0),
            ..Plan::default()
        };
        let mut from = 0;
        for (x, node) in nodes.iter().enumerate() {
            plan.moves[x].0 = from;
            from += node.size;
        }
        plan.n_unknowns = from;
        let mut to = 0;
        for (s, step) in steps.iter().enumerate() {
            plan.place[step.node] = s as u32;
            plan.moves[step.node].1 = to;
            to += nodes[step.node].size;
        }
        let groups = groups(nodes, &steps);
        for group in &groups {
            plan.add_front(nodes, &steps, group);
        }
        plan.connect(&steps, &groups);
        plan
    }

    /// Lays out a front.
    fn add_front(&mut self, nodes: &[Node], steps: &[Eliminated], group: &Group) {
        let f = self.fronts.len() as u32;
        let (mut rows, mut own) = (0, 0);
        let first_panel = self.panels.len();
        let mut columns = Vec::new();
        for s in group.own.clone() {
            let x = steps[s].node;
            self.home[x] = (f, rows as u32);
            self.panels.push(Panel {
                start: rows,
                size: nodes[x].pivots,
            });
            columns.push((s as u32, rows as u32));
            rows += nodes[x].size;
            own += nodes[x].pivots;
        }
        let mut width = rows;
        let first_run = self.runs.len();
        let (mut leader, mut leader_at) = (0, 0);
        let led = nodes[steps[group.own.start].node].leader;
        for &s in &group.others {
            let x = steps[s as usize].node;
            if led == Some(x as u32) {
                (leader, leader_at) = (width, self.moves[x].1);
            }
            columns.push((s, width as u32));
            let run = Run {
                from: width,
                to: self.moves[x].1,
                length: self.sizes[x],
            };
            push_run(&mut self.runs, first_run, run);
            width += self.sizes[x];
        }
        let length = led.map_or(0, |x| self.sizes[x as usize] * (rows - own));
        self.maps[steps[group.own.start].node] = (self.n_maps, length);
        self.fronts.push(Front {
            at: self.n_values,
            rows,
            own,
            width,
            first: self.moves[steps[group.own.start].node].1,
            panels: first_panel..self.panels.len(),
            others: first_run..self.runs.len(),
            leader,
            leader_at,
            map: self.n_maps..self.n_maps + length,
            ..Front::default()
        });
        self.n_maps += length;
        self.n_values += rows * width;
        self.widest_front = self.widest_front.max(width);
        self.columns.push(columns);
    }

    /// Where what a front leaves goes, and how much waits at most.
    fn connect(&mut self, steps: &[Eliminated], groups: &[Group]) {
        let (mut heights, mut height): (Vec<usize>, usize) = (Vec::new(), 0);
        for (f, group) in groups.iter().enumerate() {
            let front = &self.fronts[f];
            let square = (front.width - front.own).pow(2);
            self.highest = self.highest.max(height + square);
            let taken = heights.drain(heights.len() - front.children..);
            height -= taken.sum::<usize>();
            let first_run = self.runs.len();
            let Some(&next) = group.others.first() else {
                // Nothing is left, or what follows nobody: that is zero.
                self.fronts[f].to_parent = first_run..first_run;
                continue;
            };
            let parent = self.home[steps[next as usize].node].0 as usize;
            let (left, taker) = (&self.columns[f], &self.columns[parent]);
            let (left_own, taker_own) = (front.own, self.fronts[parent].own);
            let mut at = 0;
            for (s, column) in &left[group.own.len()..] {
                while taker[at].0 != *s {
                    at += 1;
                }
                let x = steps[*s as usize].node;
                let run = Run {
                    from: *column as usize - left_own,
                    to: taker[at].1 as usize,
                    length: self.sizes[x],
                };
                // Pivots of the taker and what is beside them are kept apart.
                if run.to < taker_own && taker_own < run.to + run.length {
                    let pivots = taker_own - run.to;
                    let length = pivots;
                    push_run(&mut self.runs, first_run, Run { length, ..run });
                    self.runs.push(Run {
                        from: run.from + pivots,
                        to: taker_own,
                        length: run.length - pivots,
                    });
                } else if run.to == taker_own {
                    self.runs.push(run);
                } else {
                    push_run(&mut self.runs, first_run, run);
                }
            }
            self.fronts[f].to_parent = first_run..self.runs.len();
            self.fronts[parent].children += 1;
            heights.push(square);
            height += square;
        }
    }

    /// Where the blocks of two nodes are; the pattern has them.
    pub(super) fn slot(&self, a: usize, b: usize) -> Slot {
        let swapped = self.place[b] < self.place[a];
        let (first, second) = if swapped { (b, a) } else { (a, b) };
        let (f, row) = self.home[first];
        let (front, columns) = (&self.fronts[f as usize], &self.columns[f as usize]);
        let at = columns.partition_point(|column| column.0 < self.place[second]);
        Slot {
            at: front.at + row as usize * front.width + columns[at].1 as usize,
            stride: front.width,
            swapped,
        }
    }
}

/// Adds a run, or lengthens the last one.
fn push_run(runs: &mut Vec<Run>, first: usize, run: Run) {
    match runs[first..].last_mut() {
        Some(last) if last.from + last.length == run.from && last.to + last.length == run.to => {
            last.length += run.length;
        }
        _ => runs.push(run),
    }
}

/// Least neighbours first; then children before parents one after the other, the one that leaves most last.
fn order(nodes: &[Node], pairs: impl Iterator<Item = (u32, u32)>) -> Vec<Eliminated> {
    let n = nodes.len();
    let mut neighbours = vec![Vec::new(); n];
    for (a, b) in pairs.filter(|(a, b)| a != b) {
        neighbours[a as usize].push(b as usize);
    }
    let mut followers = vec![0; n];
    for (x, node) in nodes.iter().enumerate() {
        if let Some(leader) = node.leader {
            neighbours[x].push(leader as usize);
            followers[leader as usize] += 1;
        }
    }
    let leader = nodes.iter().map(|node| node.leader).collect();
    let sizes: Vec<usize> = nodes.iter().map(|node| node.size).collect();
    let mut gate = Leaders { leader, followers };
    let gone = Graph::new(sizes.clone(), neighbours).eliminate(&mut gate);
    let mut place = vec![0; n];
    for (s, step) in gone.iter().enumerate() {
        place[step.node] = s;
    }
    let mut children = vec![Vec::new(); n];
    let mut roots = Vec::new();
    let weight = |s: usize| gone[s].later.iter().map(|y| sizes[*y]).sum::<usize>();
    for (s, step) in gone.iter().enumerate() {
        match step.later.iter().map(|y| place[*y]).min() {
            Some(parent) => children[parent].push(s),
            None => roots.push(s),
        }
    }
    for list in &mut children {
        list.sort_by_key(|s| (weight(*s), *s));
    }
    // Depth first without recursion: parents are written before children from last to first, and the list is turned.
    let mut backwards = Vec::with_capacity(n);
    let mut open = roots;
    while let Some(s) = open.pop() {
        backwards.push(s);
        open.extend(&children[s]);
    }
    let mut new_place = vec![0; n];
    for (at, s) in backwards.iter().rev().enumerate() {
        new_place[gone[*s].node] = at as u32;
    }
    let steps = backwards.iter().rev().map(|s| {
        let mut later: Vec<u32> = gone[*s].later.iter().map(|y| new_place[*y]).collect();
        later.sort_unstable();
        Eliminated {
            node: gone[*s].node,
            later,
        }
    });
    steps.collect()
}

/// Which nodes share a front: each joins the one before it where that couples hardly anything else.
fn groups(nodes: &[Node], steps: &[Eliminated]) -> Vec<Group> {
    let size = |s: u32| nodes[steps[s as usize].node].size;
    let mut groups: Vec<Group> = Vec::new();
    for (s, step) in steps.iter().enumerate() {
        let plain = |s: usize| nodes[steps[s].node].pivots == nodes[steps[s].node].size;
        if let Some(group) = groups.last_mut()
            && group.others.first() == Some(&(s as u32))
            && plain(s)
            && plain(group.own.start)
        {
            // Rows of the group get columns that the node couples and they do not.
            let own: usize = group.own.clone().map(|s| size(s as u32)).sum();
            let before: usize = group.others.iter().map(|s| size(*s)).sum();
            let (new, after) = (
                size(s as u32),
                step.later.iter().map(|s| size(*s)).sum::<usize>(),
            );
            let zeros = group.zeros + 2 * own * (new + after - before);
            let total = (own + new) * (own + new + 2 * after);
            if zeros as f64 <= ZEROS * total as f64 {
                group.own.end = s + 1;
                group.others.clone_from(&step.later);
                group.zeros = zeros;
                continue;
            }
        }
        groups.push(Group {
            own: s..s + 1,
            others: step.later.clone(),
            zeros: 0,
        });
    }
    groups
}
