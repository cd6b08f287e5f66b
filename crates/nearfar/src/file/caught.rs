//! Panics of decoders that other libraries bring, on broken files.

use std::cell::Cell;

thread_local! {
    static CATCHING: Cell<bool> = const { Cell::new(false) };
}

/// Decodes a file; `None` if the decoder panics. It must leave nothing behind, so that unwinding is
/// safe, and stay on this thread.
#[cfg(feature = "parquet")]
pub(crate) fn caught<T>(decode: impl FnOnce() -> T) -> Option<T> {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let outer = CATCHING.replace(true);
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    CATCHING.set(outer);
    decoded.ok()
}

/// Whether a panic of this thread, at this moment, becomes an [`Error`](crate::Error), as those of
/// decoders do on broken files. A panic hook that prints may leave those alone.
pub fn is_panic_caught() -> bool {
    CATCHING.get()
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::{caught, is_panic_caught};

    #[test]
    fn panics_are_caught_while_decoding() {
        assert!(!is_panic_caught());
        assert_eq!(caught(|| (1, is_panic_caught())), Some((1, true)));
        assert!(!is_panic_caught());
        // The inner call ends without a panic, the outer one still catches.
        let nested = caught(|| {
            assert_eq!(caught(|| 2), Some(2));
            assert!(!is_panic_caught(), "still catching");
        });
        assert_eq!(nested, None);
        assert!(!is_panic_caught());
    }
}
