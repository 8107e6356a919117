//! Where edges leave and reach their boxes.
//!
//! ```text
//! a box at x = 0 with edges to 0 and to 90   ->   ports at 0 and 24: the first edge is straight
//! ```
//!
//! Each edge wants to leave straight towards its next stop; ports keep a distance and stay near the middle.

/// The least distance between ports, where the box has the room.
const DISTANCE: f64 = 14.0;
/// Ports keep as far from the corners of their box.
const CORNER: f64 = 16.0;
/// Ports leave their best place by as much to keep an edge straight.
const SNAP: f64 = 10.0;

/// The ports of a box of `width` around `centre` for edges whose next stops are at `wishes`, which ascend.
pub(super) fn ports(centre: f64, width: f64, wishes: &[f64]) -> Vec<f64> {
    let gaps = wishes.len().saturating_sub(1) as f64;
    let reach = (width / 2.0 - CORNER).max(0.0).min(DISTANCE * gaps + SNAP);
    if let [wish] = wishes {
        return vec![if (wish - centre).abs() <= reach { *wish } else { centre }];
    }
    let distance = DISTANCE.min(2.0 * reach / gaps.max(1.0));
    // Without the distances that each port must keep, ports need only ascend.
    let slack: Vec<f64> = wishes
        .iter()
        .enumerate()
        .map(|(i, wish)| wish.clamp(centre - reach, centre + reach) - distance * i as f64)
        .collect();
    let highest = (centre + reach - distance * gaps).max(centre - reach);
    let place = |(i, x): (usize, f64)| x.clamp(centre - reach, highest) + distance * i as f64;
    ascending(&slack).into_iter().enumerate().map(place).collect()
}

/// The ascending values nearest to `wishes` in the sense of least squares: neighbours out of order are pooled.
fn ascending(wishes: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for wish in wishes {
        let mut pool = (*wish, 1);
        while let Some(before) = pools.pop_if(|before| before.0 > pool.0) {
            let count = before.1 + pool.1;
            pool = ((before.0 * before.1 as f64 + pool.0 * pool.1 as f64) / count as f64, count);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(width: f64, wishes: &[f64], expect: &[f64]) {
        assert_eq!(ports(0.0, width, wishes), expect);
    }

    #[test]
    fn one_edge_is_near_the_middle() {
        check(100.0, &[90.0], &[0.0]);
        check(100.0, &[-9.0], &[-9.0]);
        check(100.0, &[], &[]);
    }

    #[test]
    fn straight_edges_stay_straight() {
        check(100.0, &[0.0, 90.0], &[0.0, 24.0]);
        check(100.0, &[-90.0, 90.0], &[-24.0, 24.0]);
        check(200.0, &[-90.0, 0.0, 90.0], &[-38.0, 0.0, 38.0]);
    }

    #[test]
    fn edges_to_one_side_keep_their_distance() {
        check(100.0, &[80.0, 90.0], &[10.0, 24.0]);
        check(36.0, &[80.0, 90.0, 91.0], &[-2.0, 0.0, 2.0]);
        check(10.0, &[-80.0, 90.0], &[0.0, 0.0]);
    }

    #[test]
    fn pools_are_means() {
        assert_eq!(ascending(&[3.0, 1.0, 2.0, 5.0]), [2.0, 2.0, 2.0, 5.0]);
    }
}
