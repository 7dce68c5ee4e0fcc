//! Index newtypes: a mass block cannot be used where a constraint block is meant.

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident, $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the array this index belongs to.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{} {}", $word, self.0)
            }
        }
    )*};
}

index! {
    /// A diagonal block of M: one free body or one dense block.
    MassId, "mass";
    /// A constraint block: consecutive rows of G that share one law.
    BlockId, "block";
    /// A rigid body of a world.
    BodyId, "body";
    /// A joint of a world.
    JointId, "joint";
    /// A robot of a world.
    RobotId, "robot";
    /// A link of a kinematic tree.
    LinkId, "link";
}
