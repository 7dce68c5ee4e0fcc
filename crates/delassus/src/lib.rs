//! delassus
