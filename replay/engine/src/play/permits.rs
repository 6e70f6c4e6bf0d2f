//! Permits that limit concurrent model requests and verdicts, and the time that workers spend.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::store::TimeSpent;

/// The permits of a replay's workers, and their time.
pub(super) struct WorkerPermits {
    /// For asking models.
    pub(super) asking: Permits,
    /// For reaching verdicts.
    pub(super) judging: Permits,
    spent: Mutex<TimeSpent>,
}

/// A limit on the number of concurrent holders.
pub(super) struct Permits {
    free: Mutex<usize>,
    given_back: Condvar,
    /// No permit is issued before this time.
    paused_until: Mutex<Instant>,
}

/// A permit, which is returned when it is dropped.
pub(super) struct TakenPermit<'a>(&'a Permits);

impl WorkerPermits {
    /// Limits concurrent model requests to `asking`, and verdicts to `judging`.
    pub(super) fn new(asking: usize, judging: usize) -> Self {
        Self {
            asking: Permits::new(asking),
            judging: Permits::new(judging),
            spent: Mutex::default(),
        }
    }

    /// Adds time to one of the sums.
    pub(super) fn add(&self, sum: impl FnOnce(&mut TimeSpent) -> &mut f64, time: Duration) {
        *sum(&mut self.spent.lock()) += time.as_secs_f64();
    }

    /// Adds the time of a verdict. Of it `tests` seconds were spent on tests, and of these `twins`
    /// on twins.
    pub(super) fn add_verdict(&self, time: Duration, tests: f64, twins: f64) {
        let time = time.as_secs_f64();
        // The tests of a kept verdict ran at another time.
        let (tests, twins) = if tests <= time {
            (tests, twins)
        } else {
            (0.0, 0.0)
        };
        // Tests include twins, so the remainder after both is the time of the sandbox.
        let mut spent = self.spent.lock();
        spent.tests += tests - twins;
        spent.twins += twins;
        spent.sandbox += time - tests;
    }

    /// Returns the time that the given number of workers spent, in this wall-clock time.
    pub(super) fn spent(&self, workers: usize, wall: Duration) -> TimeSpent {
        let mut spent = *self.spent.lock();
        spent.wall = wall.as_secs_f64();
        // Rounding may make the sum of the parts exceed the total slightly.
        spent.idle = (spent.wall * workers as f64 - spent.busy()).max(0.0);
        spent
    }
}

impl Permits {
    fn new(count: usize) -> Self {
        Self {
            // Without any permit every worker would wait forever.
            free: Mutex::new(count.max(1)),
            given_back: Condvar::new(),
            paused_until: Mutex::new(Instant::now()),
        }
    }

    /// Waits for a permit, and for the end of a pause.
    pub(super) fn take(&self) -> TakenPermit<'_> {
        let mut free = self.free.lock();
        while *free == 0 {
            self.given_back.wait(&mut free);
        }
        *free -= 1;
        // The lock is released before the sleep, so that other permits can be returned.
        drop(free);
        let permit = TakenPermit(self);
        // Another worker may extend the pause during the sleep, so the end is read again.
        loop {
            let left = self
                .paused_until
                .lock()
                .saturating_duration_since(Instant::now());
            if left.is_zero() {
                return permit;
            }
            std::thread::sleep(left);
        }
    }

    /// Issues no further permit for some time.
    pub(super) fn pause(&self, time: Duration) {
        let mut until = self.paused_until.lock();
        *until = (*until).max(Instant::now() + time);
    }
}

impl Drop for TakenPermit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn permits_limit_concurrent_holders() {
        let permits = Permits::new(3);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _permit = permits.take();
                        let others = now.fetch_add(1, Ordering::SeqCst);
                        most.fetch_max(others + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_micros(200));
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 3);
    }

    #[test]
    fn a_pause_holds_for_everybody() {
        let permits = Permits::new(2);
        let began = Instant::now();
        permits.pause(Duration::from_millis(60));
        // A shorter pause does not shorten it.
        permits.pause(Duration::from_millis(5));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _permit = permits.take();
                    assert!(began.elapsed() >= Duration::from_millis(60));
                });
            }
        });
    }

    #[test]
    fn tests_of_kept_verdicts_took_no_time() {
        let permits = WorkerPermits::new(1, 1);
        permits.add_verdict(Duration::from_secs(4), 3.0, 1.0);
        permits.add_verdict(Duration::from_secs(1), 30.0, 10.0);
        permits.add(|spent| &mut spent.models, Duration::from_secs(2));
        let spent = permits.spent(0, Duration::ZERO);
        let sums = [spent.models, spent.tests, spent.twins, spent.sandbox];
        assert_eq!(sums, [2.0, 2.0, 1.0, 2.0]);
    }

    #[test]
    fn idle_time_is_the_rest_of_the_given_wall_time() {
        let permits = WorkerPermits::new(1, 1);
        permits.add(|spent| &mut spent.models, Duration::from_secs(2));
        let spent = permits.spent(3, Duration::from_secs(4));
        assert_eq!((spent.wall, spent.idle), (4.0, 10.0));
        // The parts of two workers overlap the wall time of one.
        assert_eq!(permits.spent(1, Duration::from_secs(1)).idle, 0.0);
    }
}
