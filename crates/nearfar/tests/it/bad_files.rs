//! Reading any file ends in a graph or in an error that names the file.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use nearfar::graph::{ReadOptions, read};
use rayon::prelude::*;

/// Writes a file that may exist. Creating a file is much faster than replacing the content of one,
/// which file systems flush to disk.
fn write_new(path: &Path, content: &[u8]) {
    let _ = fs::remove_file(path);
    fs::write(path, content).unwrap();
}

/// Writes a file and reads it as a graph; returns the part of the error after the file name.
fn error_in(path: &Path, content: &[u8]) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    write_new(path, content);
    let error = read(path.to_str().unwrap(), &ReadOptions::default()).expect_err(name).to_string();
    error.split_once(name).unwrap_or_else(|| panic!("{name} is not in: {error}")).1.to_owned()
}

/// Checks that the error contains `expected`, directly after the file name if it starts with `:`.
fn check(name: &str, content: impl AsRef<[u8]>, expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let error = error_in(&folder.path().join(name), content.as_ref());
    let found = if expected.starts_with(':') {
        error.starts_with(expected)
    } else {
        error.contains(expected)
    };
    assert!(found, "{name}: expected '{expected}' in '{error}'");
}

#[test]
fn text_without_edges() {
    check("a.txt", "", ": the file is empty");
    check("a.txt", "\u{feff}", ": no edges found");
    check("a.txt", "# nothing\n\n% here\n", ": no edges found");
    check("a.csv", "source,target\n", ": no edges found");
    check("a.txt", "1 2\0\n", ": a binary file");
    check("a.txt", "1\n2\n", ":1: found 1 column separated by blanks, expected 'source target");
    check("a.txt", "1 2 3 4\n", ":1: found 4 columns, expected 'source target [weight]'; use");
    check("a.csv", "day,a,b,c\n1,2,3,4\n", ":1: found the columns day, a, b, c, and their names");
    check("a.csv", "source,target\n5,6,7\n", ":1: the header names 2 columns, but lines have 3");
    check("a.txt", "1 2\n2 3\n\n3 4 5\n", ":4: found 3 columns, expected 2 as in earlier lines");
    check("a.csv", "1,2,1\n2,3\n", ":2: found 2 columns, expected 3 as in earlier lines");
    check("a.tsv", "a\tb\n\tc\n", ":2: an empty id");
    check("a.csv", "\"a,b\nc,d\n", ":1: an opening quote without a closing one");
    check("a.csv", "a,b\n\"a\"x,d\n", ":2: text follows a closing quote");
    check("a.txt", b"a b\nb \xff\n", ":2: this is not UTF-8");
    check("a.txt", "a a\n", ": the graph needs at least two nodes");
}

#[test]
fn text_with_bad_weights() {
    check("a.tsv", "1\t2\t1\n2\t3\theavy\n", ":2: 'heavy' is not a weight");
    check("a.tsv", "a\tb\t1\nb\tc\t\n", ":2: '' is not a weight");
    for (weight, is) in [("1e99", "large"), ("1e-308", "small")] {
        let expected = format!(":2: weight {weight} is too {is} for a 32-bit number");
        check("a.csv", format!("1,2,1\n2,3,{weight}\n"), &expected);
    }
    for weight in ["NaN", "-1", "inf"] {
        check("a.csv", format!("a,b,w\n1,2,1\n2,3,{weight}\n"), &format!(":3: weight {weight};"));
    }
}

#[test]
fn lines_are_counted_over_all_blocks_of_a_file() {
    for (lines, edge) in [(700_000, "1 2 0.5\n"), (1_300_000, "ann bob 1\r\n")] {
        let mut text = "# first\n".to_owned();
        text += &edge.repeat(lines);
        text += "1 2 -3\n";
        text += &edge.repeat(lines);
        assert!(text.len() > 9 << 20);
        check("long.txt", &text, &format!(":{}: weight -3", lines + 2));
    }
    let mut text = "%%MatrixMarket matrix coordinate integer general\n9 9 1200001\n".to_owned();
    text += &"1 2 5\n".repeat(1_200_000);
    check(
        "long.mtx",
        text.clone() + "1 10 1\n",
        ":1200003: column 10 is out of range; expected 1 to 9",
    );
    check("long.mtx", text, ":2: the header claims 1200001 entries, but 1200000 follow");
}

#[test]
fn invalid_matrix_market_files() {
    let general = "%%MatrixMarket matrix coordinate real general\n";
    let with = |rest: &str| format!("{general}{rest}");
    check("a.mtx", "", ": the file is empty");
    check("a.mtx", "\n", ":1: expected a header such as '%%MatrixMarket");
    check("a.mtx", "1 2\n", ":1: expected a header such as '%%MatrixMarket");
    check("a.mtx", general.replace("coordinate", "array"), ":1: a matrix in 'array' format");
    check("a.mtx", general.replace("real", "complex"), ":1: a matrix of 'complex' values");
    for symmetry in ["skew-symmetric", "hermitian", "lopsided"] {
        check(
            "a.mtx",
            general.replace("general", symmetry),
            &format!(":1: a matrix that is '{symmetry}'"),
        );
    }
    check("a.mtx", with("% only\n"), ":2: the file ends before the line 'rows columns entries'");
    check("a.mtx", with("3 3\n"), ":2: expected three numbers: 'rows columns entries'");
    check("a.mtx", with("3 x 1\n"), ":2: expected three numbers: 'rows columns entries'");
    check("a.mtx", with("%\n3 4 1\n1 2 1\n"), ":3: a matrix of 3 rows and 4 columns");
    check("a.mtx", with("5000000000 5000000000 1\n1 2 1\n"), ":2: a matrix of 5000000000 rows");
    check("a.mtx", with("3 3 2\n1 2 1\n"), ":2: the header claims 2 entries, but 1 follow");
    check("a.mtx", with("3 3 1\n1 2 1\n1 3 1\n"), ":2: the header claims 1 entries, but 2 follow");
    check("a.mtx", with("3 3 0\n"), ": no edges found");
    check("a.mtx", with("3 3 1\n0 2 1\n"), ":3: row 0 is out of range; expected 1 to 3");
    check("a.mtx", with("3 3 1\n% x\n\n1 4 1\n"), ":5: column 4 is out of range; expected 1 to 3");
    check("a.mtx", with("3 3 1\n1 b 1\n"), ":3: 'b' is not a column number");
    check("a.mtx", with("3 3 1\n1 -2 1\n"), ":3: '-2' is not a column number");
    check("a.mtx", with("3 3 1\n1 2\n"), ":3: expected 'row column value'");
    check("a.mtx", with("3 3 1\n1 2 3 4\n"), ":3: expected 'row column value'");
    check("a.mtx", with("3 3 1\n1 2 x\n"), ":3: 'x' is not a weight");
    check("a.mtx", with("3 3 1\n1 2 -1\n"), ":3: weight -1;");
    check("a.mtx", with("3 3 1\n1 2 nan\n"), ":3: weight nan;");
    let pattern = general.replace("real", "pattern");
    check("a.mtx", pattern + "3 3 1\n1 2 1\n", ":3: expected 'row column'");
}

fn npy(descr: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(values);
    bytes
}

/// Comments are read once, however long they are.
#[test]
fn long_runs_of_comments() {
    let comments = "# a line of comment\n".repeat(1 << 20);
    check("a.txt", format!("{comments}1 2\n2 3 x\n"), ":1048578: found 3 columns, expected 2");
    check("a.txt", &comments, ": no edges found");
    check("a.txt", format!("source target\n{comments}a b\nc\n"), ":1048579: found 1 column");
    let banner = "%%MatrixMarket matrix coordinate pattern general\n";
    let comments = comments.replace('#', "%");
    check("a.mtx", format!("{banner}{comments}3 3 1\n1 4\n"), ":1048579: column 4 is out of");
    check("a.mtx", format!("{banner}{comments}"), ":1048577: the file ends before the line");
}

fn i64s(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn f64s(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn numpy_arrays_that_are_not_edges() {
    let floats = |values: &[f64]| npy("'<f8'", "(1, 3)", &f64s(values));
    let zeros = [0; 256];
    check("a.npy", "1 2\n2 3\n3 4\n", "not a NumPy array");
    check("a.npy", "", "the file is truncated");
    check("a.npy", npy("'<i8'", "(2, 2)", &zeros[..31]), "the file is truncated");
    check("a.npy", npy("'<i8'", "(4000000000000000000, 2)", &zeros), "is too large");
    check("a.npy", npy("'<i8'", "(2000000000000000000, 2)", &zeros), "is too large");
    check("a.npy", npy("'<i8'", "(1000000000000, 2)", &zeros), "the file is truncated");
    check(
        "a.npy",
        npy("'<i8'", "(99999999999999999999, 2)", &zeros),
        "the header has no valid shape",
    );
    check("a.npy", npy("'<i8'", "(-1, 2)", &zeros), "the header has no valid shape");
    check("a.npy", npy("'<i8'", "(2, 2", &zeros), "the header has no valid shape");
    check("a.npy", npy("'<i8'", "(2, 2, 2)", &zeros), "of integers of shape [2, 2, 2]; expected");
    check("a.npy", npy("'<i8'", "(8,)", &zeros), "of shape [8]; expected");
    check("a.npy", npy("'<i8'", "()", &zeros), "of shape []; expected");
    check("a.npy", npy("'<i8'", "(4, 5)", &zeros), "of shape [4, 5]; expected");
    check("a.npy", npy("'<i8'", "(0, 2)", &zeros), "no edges found");
    check("a.npy", npy("'<f8'", "(4, 2)", &zeros), "of floats of shape [4, 2]; expected integers");
    check("a.npy", npy("'|b1'", "(4, 2)", &zeros), "of booleans");
    check("a.npy", npy("'<U9'", "(2, 2)", &zeros), "of strings");
    for dtype in ["|O", "<c16", "<f16", "<M8[ns]", "=i8", "<i3", "<i", "", "é8"] {
        let array = npy(&format!("'{dtype}'"), "(4, 2)", &zeros);
        check("a.npy", array, &format!("an array of '{dtype}'; expected integers"));
    }
    check("a.npy", npy("[('a', '<i8'), ('b', '<i8')]", "(4,)", &zeros), "an array of records");
    check("a.npy", npy(&"(".repeat(9000), "(4, 2)", &zeros), "an array of records");
    check("a.npy", npy(&"(".repeat(99_000), "(4, 2)", &zeros), "the header is longer");
    let negative = npy("'<i8'", "(2, 2)", &i64s(&[0, 1, 2, -3]));
    check("a.npy", negative, "edge 2: node id -3 is not an integer ≥ 0");
    check("a.npy", floats(&[0.5, 1.0, 1.0]), "edge 1: node id 0.5 is not an integer");
    check("a.npy", floats(&[f64::NAN, 1.0, 1.0]), "edge 1: node id NaN is not an integer");
    check("a.npy", floats(&[1e300, 1.0, 1.0]), "is not an integer");
    check("a.npy", floats(&[0.0, 1.0, -1.0]), "edge 1 has weight -1");
    check("a.npy", floats(&[0.0, 1.0, f64::NAN]), "edge 1 has weight NaN");
}

fn npz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let stored = zip::CompressionMethod::Stored;
        let options = zip::write::SimpleFileOptions::default().compression_method(stored);
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A matrix of three nodes with some members replaced, or left out if they are empty.
fn matrix(changes: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut members = vec![
        ("format", npy("'|S3'", "()", b"csr")),
        ("shape", npy("'<i8'", "(2,)", &i64s(&[3, 3]))),
        ("indptr", npy("'<i8'", "(4,)", &i64s(&[0, 1, 2, 2]))),
        ("indices", npy("'<i8'", "(2,)", &i64s(&[1, 2]))),
        ("row", npy("'<i8'", "(2,)", &i64s(&[0, 1]))),
        ("col", npy("'<i8'", "(2,)", &i64s(&[1, 2]))),
        ("data", npy("'<f8'", "(2,)", &f64s(&[1.0, 2.0]))),
    ];
    for (name, bytes) in changes {
        members.iter_mut().find(|member| member.0 == *name).unwrap().1.clone_from(bytes);
    }
    members.retain(|(_, bytes)| !bytes.is_empty());
    npz(&members)
}

#[test]
fn invalid_archives() {
    let row = |values: &[i64]| npy("'<i8'", &format!("({},)", values.len()), &i64s(values));
    let format = |format: &[u8]| ("format", npy("'|S3'", "()", format));
    check("a.npz", "no archive at all", "write it again with scipy.sparse.save_npz");
    check("a.npz", "", "cannot read");
    check("a.npz", npz(&[("x", vec![]), ("y", vec![])]), "'format' is missing, found x, y");
    for name in ["shape", "indptr", "indices", "data"] {
        check("a.npz", matrix(&[(name, vec![])]), &format!("'{name}' is missing"));
    }
    check("a.npz", matrix(&[format(b"coo"), ("col", vec![])]), "'col' is missing");
    check("a.npz", matrix(&[format(b"bsr")]), "a matrix in 'bsr' format; save matrix.tocsr()");
    check("a.npz", matrix(&[format(b"dia")]), "a matrix in 'dia' format; save matrix.tocsr()");
    check("a.npz", matrix(&[("format", row(&[3]))]), "a matrix in '' format");
    check("a.npz", matrix(&[("format", b"csr".to_vec())]), "'format': ");
    check("a.npz", matrix(&[("shape", row(&[3, 4]))]), "a matrix of 3 rows and 4 columns");
    check("a.npz", matrix(&[("shape", row(&[3]))]), "'shape' is not two integers");
    check("a.npz", matrix(&[("shape", row(&[-3, -3]))]), "-3 is not an integer");
    check(
        "a.npz",
        matrix(&[("shape", row(&[1 << 40, 1 << 40]))]),
        "a matrix of 1099511627776 rows",
    );
    check("a.npz", matrix(&[("indptr", row(&[0, 1, 2]))]), "'indptr' has not 4 entries");
    check("a.npz", matrix(&[("indptr", row(&[1, 1, 2, 2]))]), "does not start at 0");
    check(
        "a.npz",
        matrix(&[("indptr", row(&[0, 2, 1, 2]))]),
        "gives row 1 the entries 2 to 1 of 2",
    );
    check(
        "a.npz",
        matrix(&[("indptr", row(&[0, 1, 2, 3]))]),
        "gives row 2 the entries 2 to 3 of 2",
    );
    check("a.npz", matrix(&[("indptr", row(&[0, 1, 2, i64::MAX]))]), "gives row 2 the entries");
    check(
        "a.npz",
        matrix(&[("indices", row(&[1, 3]))]),
        "entry 1 has index 3; expected less than 3",
    );
    check("a.npz", matrix(&[("indices", row(&[1, -1]))]), "-1 is not an integer");
    let floats = npy("'<f8'", "(2,)", &f64s(&[1.0, 2.0]));
    check(
        "a.npz",
        matrix(&[("indices", floats)]),
        "'indices' is not a 1-dimensional array of integers",
    );
    check("a.npz", matrix(&[format(b"coo"), ("row", row(&[1]))]), "'row' and 'col' differ");
    check("a.npz", matrix(&[("data", row(&[1]))]), "'data' is not 2 numbers");
    check("a.npz", matrix(&[("data", npy("'|S1'", "(2,)", b"ab"))]), "'data' is not 2 numbers");
    check("a.npz", matrix(&[("data", npy("'<c16'", "(2,)", &[0; 32]))]), "'data': an array of");
    check("a.npz", matrix(&[("data", row(&[1, -1]))]), "edge 2 has weight -1");
    let mut flipped = matrix(&[]);
    let at = flipped.windows(3).position(|bytes| bytes == b"csr").unwrap();
    flipped[at + 2] = b'c';
    check("a.npz", flipped, "hecksum");
}

#[test]
#[cfg(feature = "parquet")]
fn invalid_parquet_files() {
    for (name, expected) in [
        ("null-target", "column 'target' is null in row 3"),
        ("null-weight", "column 'weight' is null in row 2"),
        ("negative-source", "column 'source', row 2: node ids must be integers ≥ 0"),
        ("empty-target", "column 'target', row 3: node ids must be"),
        ("float-source", "column 'source' is stored as DOUBLE; expected integers or text"),
        ("date-source", "column 'source' is stored as INT32 (DATE); expected"),
        ("list-target", "column 'element' is stored as"),
        ("text-weight", "column 'weight' is stored as BYTE_ARRAY (UTF8); expected floats"),
        ("negative-weight", "edge 3 has weight -2"),
        ("no-rows", "no edges found"),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data-bad");
        let bytes = fs::read(folder.join(format!("{name}.parquet"))).unwrap();
        check("a.parquet", bytes, expected);
    }
    check("a.parquet", "source,target\n1,2\n", "the file is truncated or not Parquet");
}

#[test]
#[cfg(not(feature = "parquet"))]
fn a_build_without_parquet_says_so() {
    check("a.parquet", "", "this build has no Parquet support; build with --features parquet");
}

/// Headers that claim sizes of gigabytes and more in files of a few bytes. A reader that believed
/// them would take minutes, or run out of memory.
#[test]
fn claims_beyond_the_content_of_a_file() {
    let header = "%%MatrixMarket matrix coordinate pattern general\n";
    let refused = "the header claims 400000000 nodes, but the matrix has 1 entries";
    let matrix_market = format!("{header}400000000 400000000 1\n1 2\n");
    assert!(matrix_market.len() < 100);
    check("a.mtx", &matrix_market, &format!(":2: {refused}"));
    check("a.mtx", &matrix_market, "store the edges as an edge list");
    let entries = format!("{header}3 3 18446744073709551615\n1 2\n");
    check("a.mtx", entries, ":2: the header claims 18446744073709551615 entries, but 1 follow");
    let row = |values: &[i64]| npy("'<i8'", &format!("({},)", values.len()), &i64s(values));
    let coo = |nodes: i64| {
        matrix(&[
            ("format", npy("'|S3'", "()", b"coo")),
            ("shape", row(&[nodes, nodes])),
            ("row", row(&[0])),
            ("col", row(&[1])),
            ("data", row(&[1])),
        ])
    };
    check("a.npz", coo(400_000_000), &format!(": {refused}"));
    check("a.npz", matrix(&[("shape", row(&[4_000_000, 4_000_000]))]), "'indptr' has not 4000001");
    check("a.npz", matrix(&[("data", npy("'<f8'", "(99999999999,)", &[0; 16]))]), "truncated");
    check("a.npy", npy("'<i8'", "(99999999999, 2)", &[0; 32]), "truncated");
    check("a.npy", npy("'<U99999999999'", "(2, 2)", &[0; 32]), "truncated");
    check("a.npy", npy("'<i8'", "(4294967296, 4294967296)", &[0; 32]), "is too large");
    // A million nodes are accepted in any case: road maps and crawls have isolated ones.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    write_new(&path, format!("{header}1000000 1000000 1\n1 2\n").as_bytes());
    let dataset = read(path.to_str().unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!(dataset.graph.nodes(), 1_000_000);
}

/// The number of entries in the header of a dictionary page is a claim, too.
#[test]
#[cfg(feature = "parquet")]
fn claims_beyond_a_parquet_dictionary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut bytes = fs::read(folder.join("int64.parquet")).unwrap();
    // Thrift: field 1, a 32-bit 2 (dictionary page); two sizes; field 7, a structure whose field 1
    // is the number of entries. Numbers are zigzag-encoded: 126 stands for 63.
    let start = bytes.windows(2).position(|window| window == [0x15, 0x04]).unwrap();
    let claim =
        start + bytes[start..].windows(2).position(|window| window == [0x4c, 0x15]).unwrap();
    assert!(bytes[claim + 2] < 20, "a few entries");
    bytes[claim + 2] = 126;
    check("a.parquet", bytes, "a page of 63 values in ");
}

/// All files, sorted by name.
fn data_files() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    };
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(file).collect();
    files.sort();
    files
}

/// Calls `work(name, bytes, position)` with every position in every file.
fn for_each_position(work: impl Fn(&str, &[u8], usize) + Sync) {
    data_files().par_iter().for_each(|(name, bytes)| {
        (0..bytes.len()).for_each(|position| work(name, bytes, position));
    });
}

#[test]
fn truncated_files() {
    let folder = tempfile::tempdir().unwrap();
    for_each_position(|name, bytes, len| {
        let extension = name.rsplit('.').next().unwrap();
        // Text has no end mark, and one of two gzip members is a valid file.
        let ends =
            ["arrow", "bz2", "feather", "gz", "ipc", "npy", "npz", "parquet", "xz", "zip", "zst"];
        if ends.contains(&extension) && !name.contains("members") {
            error_in(&folder.path().join(name), &bytes[..len]);
        }
    });
}

#[test]
fn files_with_a_wrong_byte_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    for_each_position(|name, bytes, at| {
        let path = folder.path().join(name);
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x81;
        write_new(&path, &bytes);
        if let Err(error) = read(path.to_str().unwrap(), &ReadOptions::default()) {
            assert!(error.to_string().contains(name), "{error}");
        }
    });
}
