//! Numbers of a state that is saved: little-endian bytes, one list after the other.

/// Appends a list.
pub(crate) fn append(out: &mut Vec<u8>, values: &[f32]) {
    out.reserve(size_of_val(values));
    out.extend(values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Reads a list from the start of what is left; `None` if that is shorter, or not of finite numbers.
pub(crate) fn take(left: &mut &[u8], values: &mut [f32]) -> Option<()> {
    let (bytes, rest) = left.split_at_checked(size_of_val(values))?;
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = Some(f32::from_le_bytes(*bytes)).filter(|value| value.is_finite())?;
    }
    *left = rest;
    Some(())
}
