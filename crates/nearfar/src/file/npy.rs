//! One NumPy array: a `.npy` file, or a member of a `.npz` archive.
//!
//! It starts with `\x93NUMPY`, two bytes of version and the length of the header, which is a
//! Python dictionary: `{'descr': '<i8', 'fortran_order': False, 'shape': (3, 2), }`. The values
//! follow without gaps. They are kept as bytes and decoded one by one, so that an array takes no
//! more memory than its file. The shape is only a claim until as many bytes have been read.

use std::io::{self, ErrorKind, Read, Write};

use rayon::prelude::*;

use super::lines::narrow;

/// An array, as its bytes.
pub(crate) struct Array {
    dtype: DType,
    pub(crate) shape: Vec<usize>,
    /// Whether values are in column-major order: the first index varies fastest.
    pub(crate) fortran: bool,
    bytes: Vec<u8>,
}

/// The type of a value: `<i8` is a little-endian integer of eight bytes.
struct DType {
    kind: Kind,
    size: usize,
    big_endian: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Uint,
    Float,
    Bytes,
    Unicode,
}

/// A value, widened.
enum Number {
    Int(i64),
    Uint(u64),
    Float(f64),
}

/// The longest header that NumPy itself reads by default, in bytes.
const LONGEST_HEADER: usize = 10_000;

impl Array {
    pub(crate) fn read(mut source: impl Read) -> io::Result<Self> {
        let (dtype, shape, fortran) = parse_header(&read_header(&mut source)?)?;
        let values = shape.iter().try_fold(1_usize, |count, &len| count.checked_mul(len));
        let size = values.and_then(|values| values.checked_mul(dtype.size));
        let size =
            size.ok_or_else(|| invalid(format!("an array of shape {shape:?} is too large")))?;
        let mut bytes = Vec::new();
        source.by_ref().take(size as u64).read_to_end(&mut bytes)?;
        if bytes.len() < size {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        // Decompression compares the checksum at the end of the stream.
        io::copy(&mut source, &mut io::sink())?;
        Ok(Self { dtype, shape, fortran, bytes })
    }

    pub(crate) fn is_integer(&self) -> bool {
        matches!(self.dtype.kind, Kind::Int | Kind::Uint)
    }

    pub(crate) fn is_float(&self) -> bool {
        self.dtype.kind == Kind::Float
    }

    /// The kind of the values, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.dtype.kind {
            Kind::Bool => "booleans",
            Kind::Int | Kind::Uint => "integers",
            Kind::Float => "floats",
            Kind::Bytes | Kind::Unicode => "strings",
        }
    }

    /// Whether the values are numbers, or booleans, which count as 0 and 1.
    pub(crate) fn is_numeric(&self) -> bool {
        !matches!(self.dtype.kind, Kind::Bytes | Kind::Unicode)
    }

    /// The length, if there is one dimension.
    pub(crate) fn len(&self) -> Option<usize> {
        match self.shape[..] {
            [len] => Some(len),
            _ => None,
        }
    }

    /// The value at position `at` in file order, if it is an integer ≥ 0.
    pub(crate) fn whole(&self, at: usize) -> Result<u64, String> {
        // Beyond 2^53, neighbouring integers are the same double.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self.get(at) {
            Number::Uint(value) => Ok(value),
            Number::Int(value) => u64::try_from(value).map_err(|_| not_an_id(value)),
            Number::Float(value) if (0.0..EXACT).contains(&value) && value.fract() == 0.0 => {
                Ok(value as u64)
            }
            Number::Float(value) => Err(not_an_id(value)),
        }
    }

    /// The value at position `at` in file order, as a float.
    pub(crate) fn number(&self, at: usize) -> f32 {
        match self.get(at) {
            Number::Int(value) => value as f32,
            Number::Uint(value) => value as f32,
            Number::Float(value) => value as f32,
        }
    }

    /// The value at position `at` in file order, as a weight.
    pub(crate) fn weight(&self, at: usize) -> Result<f32, String> {
        narrow(match self.get(at) {
            Number::Int(value) => value as f64,
            Number::Uint(value) => value as f64,
            Number::Float(value) => value,
        })
    }

    /// All values as floats, in file order.
    pub(crate) fn numbers(&self) -> Vec<f32> {
        // Nearly every file of vectors holds float32, which needs no conversion.
        if let DType { kind: Kind::Float, size: 4, big_endian: false } = self.dtype {
            let (values, _) = self.bytes.as_chunks::<4>();
            return values.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        }
        let count = self.bytes.len() / self.dtype.size.max(1);
        (0..count).into_par_iter().map(|at| self.number(at)).collect()
    }

    /// The memory that the values take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn get(&self, at: usize) -> Number {
        let DType { kind, size, big_endian } = self.dtype;
        let mut wide = [0; 8];
        wide[..size].copy_from_slice(&self.bytes[at * size..][..size]);
        if big_endian {
            wide[..size].reverse();
        }
        let bits = u64::from_le_bytes(wide);
        let unused = 64 - 8 * size;
        match kind {
            Kind::Int => Number::Int((bits << unused).cast_signed() >> unused),
            Kind::Float if size == 2 => Number::Float(half(bits as u16).into()),
            Kind::Float if size == 4 => Number::Float(f32::from_bits(bits as u32).into()),
            Kind::Float => Number::Float(f64::from_bits(bits)),
            _ => Number::Uint(bits),
        }
    }

    /// The string in an array of no dimensions.
    pub(crate) fn text(&self) -> Option<String> {
        let text: String = match self.dtype.kind {
            Kind::Bytes => self.bytes.iter().copied().map(char::from).collect(),
            Kind::Unicode => self.bytes.chunks_exact(4).map(|c| self.character(c)).collect(),
            _ => return None,
        };
        self.shape.is_empty().then(|| text.trim_end_matches('\0').to_owned())
    }

    fn character(&self, bytes: &[u8]) -> char {
        let bytes = bytes.try_into().unwrap_or_default();
        let big_endian = self.dtype.big_endian;
        let code = if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// The header of a float32 array, padded with blanks so that the values start at a multiple of 64
/// bytes: then they are aligned when the file is memory-mapped.
pub(crate) fn header(rows: usize, columns: usize) -> Vec<u8> {
    let mut text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let before = b"\x93NUMPY\x01\x00".len() + 2;
    let len = (before + text.len() + 1).next_multiple_of(64) - before;
    while text.len() + 1 < len {
        text.push(' ');
    }
    text.push('\n');
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Two sizes of at most twenty digits each: 128 bytes at most.
    header.extend((text.len() as u16).to_le_bytes());
    header.extend(text.bytes());
    header
}

/// Writes floats little-endian, the byte order of every format here.
pub(crate) fn write_floats(out: &mut impl Write, floats: &[f32]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for chunk in floats.chunks(1 << 12) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|float| float.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

fn read_header(source: &mut impl Read) -> io::Result<String> {
    let mut start = [0; 8];
    source.read_exact(&mut start)?;
    if !start.starts_with(b"\x93NUMPY") {
        return Err(invalid("not a NumPy array; write it with numpy.save"));
    }
    let mut len = [0; 4];
    // From version 2 on, the length has four bytes.
    let bytes = if start[6] == 1 { 2 } else { 4 };
    source.read_exact(&mut len[..bytes])?;
    let len = u32::from_le_bytes(len) as usize;
    if len > LONGEST_HEADER {
        return Err(invalid("the header is longer than 10 000 bytes; save a plain array"));
    }
    let mut header = vec![0; len];
    source.read_exact(&mut header)?;
    String::from_utf8(header).map_err(|_| invalid("the header is not UTF-8"))
}

fn parse_header(header: &str) -> io::Result<(DType, Vec<usize>, bool)> {
    let value = |key: &str| -> io::Result<&str> {
        let after = header.split_once(&format!("'{key}':")).map(|(_, after)| after.trim_start());
        after.ok_or_else(|| invalid(format!("the header has no '{key}'")))
    };
    let descr = value("descr")?.strip_prefix('\'').and_then(|text| text.split_once('\''));
    let Some((descr, _)) = descr else {
        return Err(invalid("an array of records; save a plain array"));
    };
    let dtype = DType::parse(descr).ok_or_else(|| {
        invalid(format!(
            "an array of '{descr}'; expected integers, or floats of 16, 32 or 64 bits: convert it \
             with .astype"
        ))
    })?;
    let shape = value("shape")?.strip_prefix('(').and_then(|text| text.split_once(')'));
    let lengths = shape.map(|(shape, _)| shape.split(',').map(str::trim));
    let shape: Option<Vec<usize>> = lengths.and_then(|lengths| {
        lengths.filter(|len| !len.is_empty()).map(|len| len.parse().ok()).collect()
    });
    let shape = shape.ok_or_else(|| invalid("the header has no valid shape"))?;
    Ok((dtype, shape, value("fortran_order")?.starts_with("True")))
}

impl DType {
    fn parse(descr: &str) -> Option<Self> {
        let mut chars = descr.chars();
        let big_endian = match chars.next()? {
            '<' | '|' => false,
            '>' => true,
            _ => return None,
        };
        let kind = chars.next()?;
        let size: usize = chars.as_str().parse().ok()?;
        let (kind, size) = match (kind, size) {
            ('b', 1) => (Kind::Bool, 1),
            ('i', 1 | 2 | 4 | 8) => (Kind::Int, size),
            ('u', 1 | 2 | 4 | 8) => (Kind::Uint, size),
            ('f', 2 | 4 | 8) => (Kind::Float, size),
            ('S', _) => (Kind::Bytes, size),
            ('U', _) => (Kind::Unicode, size.checked_mul(4)?),
            _ => return None,
        };
        Some(Self { kind, size, big_endian })
    }
}

/// A float of 16 bits: one sign bit, five of exponent, ten of fraction. Shifted to where a 32-bit
/// float has them, the value is too small by 2 to the difference of the exponent biases, 127 − 15.
/// Only infinities and NaN need a case of their own.
pub(crate) fn half(bits: u16) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff) << 13);
    if bits & 0x7c00 == 0x7c00 {
        return f32::from_bits(sign | rest | 0x7f80_0000);
    }
    let scale = f32::from_bits((127 + 112) << 23);
    f32::from_bits(sign | rest) * scale
}

fn not_an_id(value: impl std::fmt::Display) -> String {
    format!("{value} is not an integer ≥ 0")
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_start_at_a_multiple_of_64_bytes() {
        for rows in [1, 1000, 123_456_789, usize::MAX] {
            for columns in [1, 16, 128, 1000, usize::MAX] {
                let header = header(rows, columns);
                assert_eq!(header.len() % 64, 0);
                assert_eq!(header.last(), Some(&b'\n'));
                assert_eq!(
                    usize::from(header[8]) + 256 * usize::from(header[9]),
                    header.len() - 10
                );
            }
        }
    }

    #[test]
    fn half_precision_follows_the_standard() {
        let cases = [
            (0x0000, 0.0),
            (0x8000, -0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0400, 6.103_515_6e-5),
            (0x03ff, 6.097_555e-5),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
            (0x7c00, f32::INFINITY),
            (0xfc00, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits).to_bits(), value.to_bits(), "{bits:04x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
