//! Mutations of inputs: of bytes, of numbers in text and in binary, and of whole parts.

/// A small generator of random numbers (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// What readers may stumble over.
const WORDS: [&[u8]; 28] = [
    b"0",
    b"-1",
    b"1e308",
    b"1e-308",
    b"nan",
    b"inf",
    b"4294967295",
    b"18446744073709551616",
    b"2147483648",
    b"\t",
    b"\n",
    b"\r\n",
    b"\r",
    b",",
    b"#",
    b"\"",
    b"\\",
    b"{",
    b"[[[[",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\x83",
    b"null",
    b"<",
    b"&#0;",
    b"\0file\0",
    b" ",
];

const NUMBERS: [u64; 9] =
    [0, 1, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, u64::MAX >> 1, u64::MAX];

/// Changes an input in one to eight places; `other` is one that parts are taken from.
pub(crate) fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const LONGEST: usize = 1 << 16;
    for _ in 0..=random.below(8) {
        let at = random.below(data.len() + 1);
        let end = (at + 1 + random.below(16)).min(data.len());
        match random.below(11) {
            0 | 1 if at < data.len() => data[at] ^= 1 << random.below(8),
            2 if at < data.len() => data[at] = random.below(256) as u8,
            3 => drop(data.splice(at..end, [])),
            4 => drop(data.splice(at..at, WORDS[random.below(WORDS.len())].iter().copied())),
            5 => drop(data.splice(at..end, WORDS[random.below(WORDS.len())].iter().copied())),
            6 => {
                let part = data[at..end].to_vec();
                let times = 1 + random.below(40);
                data.splice(at..at, part.repeat(times));
            }
            7 => {
                let number = NUMBERS[random.below(NUMBERS.len())];
                let bytes =
                    if random.below(2) == 0 { number.to_le_bytes() } else { number.to_be_bytes() };
                let width = 1 << random.below(4);
                for (to, from) in data[at..].iter_mut().zip(bytes).take(width) {
                    *to = from;
                }
            }
            8 => {
                let from = random.below(other.len() + 1);
                let to = (from + 1 + random.below(64)).min(other.len());
                data.splice(at..at, other[from..to].iter().copied());
            }
            9 if random.below(8) == 0 => data.truncate(at),
            _ => {
                let from = random.below(data.len() + 1);
                if at < data.len() && from < data.len() {
                    data.swap(at, from);
                }
            }
        }
        data.truncate(LONGEST);
    }
}
