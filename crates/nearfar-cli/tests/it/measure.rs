//! `nearfar measure`: output and error messages.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{failure, json, output, text};

/// A path of four nodes and an isolated node; vectors that rotate along the path.
fn files(folder: &Path) -> [PathBuf; 2] {
    let [vectors, edges] = ["v.tsv", "edges.tsv"].map(|name| folder.join(name));
    fs::write(&vectors, "dan\t-1.5\t0.5\nann\t2\t0\nbob\t1\t1\neve\t0\t-1\ncat\t0\t1.5\n").unwrap();
    fs::write(&edges, "ann\tbob\nbob\tcat\ncat\tdan\n").unwrap();
    fs::write(folder.join("nodes.tsv"), "ann\nbob\ncat\ndan\neve\n").unwrap();
    [vectors, edges]
}

#[test]
fn table_output() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, _] = files(folder.path());
    let options = ["--context", "3", "--k", "2"];
    let all = output(&[&["measure", text(&vectors), text(folder.path())], &options[..]].concat());
    insta::assert_snapshot!(all, @"
    5 vectors of 2 dimensions; all pairs
    C = 3, K = 2, γ = 1

      cohesion                 -1.22921
      separation               -16.9075
        uniform negatives      -23.1063
      separation power         3.00000  (2.57143 from mean β; uniform negatives: 1)
      rank correlation         -0.925820  (Spearman, distance and similarity)
      total distance D         10.4000  (D/d > n = 5 for d ≤ 2)

          d            pairs         ξ   std of ξ         α  β distance  β uniform
          1                6   0.79252    0.08420   3.33e-1     7.00e-1     1.50e0
          2                4   0.38447    0.11553   1.88e-1      1.35e0     1.50e0
          3                2   0.04743    0.00000    0.00e0      1.80e0     1.50e0
        far                8   0.33223    0.11900    0.00e0      2.10e0     1.50e0
    ");
    let options = ["--context", "3", "--objective", "--l2", "0.2", "--negatives", "uniform"];
    let all = output(&[&["measure", text(&vectors), text(folder.path())], &options[..]].concat());
    let lines: Vec<&str> = all.lines().skip(9).take(4).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
      objective                0.823116  (uniform negatives, w = 1, λ = 0.2, all centres)
        positives              0.158007
        negatives              0.516581
        regularisation         0.148528
    ");
    let train = ["embed", "builtin:karate", "-o", text(&vectors), "--dim", "8", "--l2", "0.1"];
    output(&train);
    let measure = ["measure", text(&vectors), "builtin:karate", "--sources", "30", "--walks", "50"];
    let sampled = output(&measure);
    insta::assert_snapshot!(sampled.lines().next().unwrap_or_default(), @"34 vectors of 8 dimensions; estimated from 30 sources, 95 % intervals, α from 50 walks per source");
    assert!(sampled.contains(" ± "), "{sampled}");
}

/// Numbers rounded to six digits: the last ones differ between machines.
fn rounded(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let number = number.as_f64().unwrap_or_default();
            Value::from(format!("{number:.5e}").parse::<f64>().unwrap_or_default())
        }
        Value::Array(list) => list.into_iter().map(rounded).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, rounded(value))).collect(),
        other => other,
    }
}

#[test]
fn json_output() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, edges] = files(folder.path());
    let mut found = rounded(json(&["measure", text(&vectors), text(folder.path()), "--json"]));
    let read = found.as_object_mut().and_then(|found| found.remove("read")).unwrap();
    assert_eq!(read["nodes"], 5);
    insta::assert_snapshot!(found, @r#"{"nodes":5,"dim":2,"counted":"all","sources":5,"alpha_walks":null,"distance":[1,2,3],"pairs":[6,4,2],"xi":[0.792517,0.384471,0.0474259],"xi_std":[0.0841958,0.115529,0.0],"alpha":[0.3125,0.210938,0.0625],"beta":[5.83333,11.25,15.0],"corollary":[true,true,false],"cohesion":-1.67453,"separation":-140.896,"separation_power":3.0,"separation_power_of_means":2.57143,"uniform":{"beta":12.5,"separation":-192.553,"separation_power":1.0},"mean_total_distance":10.4,"spearman":-0.92582,"resolution":0.00195312,"far":{"hops":4,"pairs":8,"xi":0.332227,"xi_std":0.119003,"beta":17.5},"interval":null,"objective":null,"config":{"context":5,"k":10,"sources":null,"walks":null,"seed":0,"objective":false,"l2":0.1,"negative-weight":1.0,"centre-power":0.5,"negatives":"auto","gamma":1.0,"degree-power":0.75,"landmarks":null,"far":"auto","strategy":"auto"}}"#);
    let options = ["--json", "--objective", "--l2", "0", "--sources", "4"];
    let found = json(&[&["measure", text(&vectors), text(folder.path())], &options[..]].concat());
    let objective = &found["objective"];
    assert_eq!((&objective["law"], &objective["centres"]), (&"distance".into(), &4.into()));
    assert_eq!((&objective["regularisation"], &objective["interval"]), (&0.0.into(), &Value::Null));
    // The edge list alone has no isolated node, so that its vector is removed too.
    let fewer = fs::read_to_string(&vectors).unwrap().replace("eve\t0\t-1\n", "");
    fs::write(&vectors, fewer).unwrap();
    let found = json(&["measure", text(&vectors), text(&edges), "--json", "--sources", "2"]);
    assert_eq!(found["counted"], "sampled");
    assert_eq!((&found["sources"], &found["far"]), (&2.into(), &Value::Null));
}

#[test]
fn wrong_input() {
    let folder = tempfile::tempdir().unwrap();
    let [vectors, edges] = files(folder.path());
    let error = |content: Option<&str>, graph: &Path, options: &[&str]| {
        let path =
            if content.is_some() { folder.path().join("other.tsv") } else { vectors.clone() };
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let message = failure(&[&["measure", text(&path), text(graph)], options].concat());
        message.replace(&format!("{}/", text(folder.path())), "")
    };
    let nan = "ann\t1\t0\nbob\t1\tNaN\ncat\t0\t1\ndan\t1\t1\n";
    let long = "ann\t1\t0\nbob\t1\t1e20\ncat\t0\t1\ndan\t1\t1\n";
    let messages = [
        error(None, &edges, &[]),
        error(Some("ann\t1\t0\nbob\t1\t1\n"), &edges, &[]),
        error(Some("0\t1\t0\n1\t1\t1\n2\t1\t1\n3\t1\t1\n"), &edges, &[]),
        error(Some(nan), &edges, &[]),
        error(Some(long), &edges, &[]),
        error(None, folder.path(), &["--context", "1"]),
        error(None, folder.path(), &["--k", "0"]),
        error(None, folder.path(), &["--gamma", "NaN"]),
        error(None, folder.path(), &["--walks", "0"]),
        error(None, folder.path(), &["--objective", "--l2", "3"]),
        error(None, folder.path(), &["--objective", "--centre-power", "3"]),
        error(None, folder.path(), &["--negative-weight", "2"]),
        error(None, folder.path(), &["--negatives", "edge"]),
        error(None, &folder.path().join("none.tsv"), &[]),
    ];
    insta::assert_snapshot!(messages.concat(), @"
    error: v.tsv: 5 vectors for 4 nodes; 'eve' is not in the graph, which has isolated nodes only if they are listed; use the graph that was embedded or give --nodes
    error: other.tsv: 2 of 4 nodes have no vector, for example 'cat'; the vectors have ids such as 'ann': give the graph that was embedded
    error: other.tsv: 4 of 4 nodes have no vector, for example 'ann'; the vectors have ids such as '0': give the graph that was embedded
    error: other.tsv: the vector of node 'bob' (row 1) has NaN in dimension 1; training diverged: lower the learning rate
    error: other.tsv: the largest vector norm is 1e20, too large to compare products; training diverged: lower the learning rate
    error: --context 1: expected 2 to 1000
    error: --k 0: expected 1 to 1000
    error: --gamma NaN: expected −64 to 64
    error: --walks 0: expected 1 to 1000000000
    error: --l2 3: expected 0 to 2
    error: --centre-power 3: expected 0 to 2
    error: --negative-weight 2: only the objective has this option; give --objective or omit --negative-weight
    error: --negatives edge: only the objective has this option; give --objective or omit --negatives
    error: none.tsv: cannot read: no such file; check the name
    ");
}
