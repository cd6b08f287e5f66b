//! Settings: their spellings, their limits, and files of them.

use nearfar::negative::{LandmarkCount, NegativeConfig, Negatives};
use nearfar::train::{L2, Model, Settings, Start, TrainConfig, Trainer};

#[test]
fn numbers_and_words_are_read_as_they_are_shown() {
    for (text, l2) in [("auto", L2::Auto), ("0.25", L2::Value(0.25)), ("0", L2::Value(0.0))] {
        assert_eq!(text.parse(), Ok(l2));
        assert_eq!(l2.to_string(), text);
        let json = serde_json::to_value(l2).unwrap();
        assert_eq!(serde_json::from_value::<L2>(json).unwrap(), l2);
    }
    assert_eq!("much".parse::<L2>(), Err("expected 'auto' or a number from 0 to 2".to_owned()));
    for (text, landmarks) in [
        ("1000", LandmarkCount::Count(1000)),
        ("1", LandmarkCount::Count(1)),
        ("0.1", LandmarkCount::Fraction(0.1)),
        // All nodes, not one of them.
        ("1.0", LandmarkCount::Fraction(1.0)),
    ] {
        assert_eq!(text.parse(), Ok(landmarks));
        assert_eq!(landmarks.to_string(), text);
        let json = serde_json::to_string(&landmarks).unwrap();
        assert_eq!(json, text);
        assert_eq!(serde_json::from_str::<LandmarkCount>(&json).unwrap(), landmarks);
    }
    let error = "many".parse::<LandmarkCount>().unwrap_err();
    assert_eq!(error, "expected a fraction such as 0.1 or a number such as 1000");
}

#[test]
fn names_are_those_of_files() {
    for law in [
        Negatives::Auto,
        Negatives::Uniform,
        Negatives::Degree,
        Negatives::Distance,
        Negatives::DistanceMin,
        Negatives::DistanceMax,
        Negatives::LandmarkApprox,
        Negatives::Landmark,
        Negatives::Edge,
    ] {
        assert_eq!(serde_json::to_value(law).unwrap(), law.name());
    }
    for model in [
        Model::Deepwalk,
        Model::Node2vec,
        Model::Line,
        Model::Gae,
        Model::Vgae,
        Model::Gcn,
        Model::Sage,
    ] {
        assert_eq!(serde_json::to_value(model).unwrap(), model.name());
    }
}

/// Writes a file of settings, and merges it with those of a command line that gave `--dim 7` and
/// `--gamma 3`.
fn merged(text: &str) -> Result<Settings, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, text).unwrap();
    let mut settings = Settings {
        train: TrainConfig { dim: 7, ..Default::default() },
        negatives: NegativeConfig { gamma: 3.0, ..Default::default() },
    };
    let merge = settings.merge(&file, |key| key == "dim" || key == "gamma");
    let name = file.display().to_string();
    merge.map(|()| settings).map_err(|error| error.to_string().replace(&name, "FILE"))
}

#[test]
fn a_file_sets_what_was_not_given() {
    let text = "model = 'line'\ndim = 64\nl2 = 0.5\nlr = 1\ngamma = -1\nlandmarks = 0.2\nfar = 9\n";
    let settings = merged(text).unwrap();
    let train = TrainConfig {
        model: Model::Line,
        dim: 7,
        l2: L2::Value(0.5),
        lr: Some(1.0),
        ..Default::default()
    };
    assert_eq!(settings.train, train);
    assert_eq!(settings.negatives.landmarks, Some(LandmarkCount::Fraction(0.2)));
    assert_eq!(settings.negatives.far.to_string(), "9");
    assert!((settings.negatives.gamma - 3.0).abs() < 1e-12, "as given");
}

#[test]
fn a_wrong_file_of_settings_is_refused() {
    let error = merged("seed = 1\n\nnegatives = \n").unwrap_err();
    assert!(error.starts_with("FILE:3: "), "{error}");
    let error = merged("seed = 1\nspeed = 2\n").unwrap_err();
    let all = "FILE: unknown setting 'speed'; expected one of negatives, gamma, degree-power, ";
    assert!(
        error.starts_with(all) && error.ends_with("negative-weight, kernel, device, scratch, seed"),
        "{error}"
    );
    let error = merged("walks = 'few'\n").unwrap_err();
    assert!(error.starts_with("FILE: walks: "), "{error}");
}

/// The limits that the help texts and messages state are themselves allowed.
#[test]
fn limits_are_allowed_and_what_exceeds_them_is_not() {
    type Set = fn(&mut TrainConfig, f64);
    let limits: [(&str, Set, [f64; 2], [f64; 2]); 14] = [
        ("dim", |c, x| c.dim = x as usize, [1.0, 4096.0], [0.0, 4097.0]),
        ("context", |c, x| c.context = Some(x as usize), [2.0, 1000.0], [1.0, 1001.0]),
        ("walk-length", |c, x| c.walk_length = Some(x as usize), [5.0, 1000.0], [4.0, 1001.0]),
        ("walks", |c, x| c.walks = Some(x as usize), [1.0, 1e9], [0.0, 1e9 + 1.0]),
        ("epochs", |c, x| c.epochs = Some(x as usize), [1.0, 1e9], [0.0, 1e9 + 1.0]),
        ("centre-power", |c, x| c.centre_power = Some(x), [0.0, 2.0], [-0.1, 2.1]),
        ("smoothing", |c, x| c.smoothing = Some(x as usize), [0.0, 100.0], [101.0, 102.0]),
        ("pmi", |c, x| c.pmi = Some(x), [0.0, 10.0], [-0.1, 10.1]),
        ("k", |c, x| c.k = Some(x as usize), [1.0, 1000.0], [0.0, 1001.0]),
        ("order", |c, x| c.order = x as usize, [1.0, 2.0], [0.0, 3.0]),
        ("lr", |c, x| c.lr = Some(x), [1e-9, 10.0], [0.0, 10.1]),
        ("l2", |c, x| c.l2 = L2::Value(x), [0.0, 2.0], [-0.1, 2.1]),
        ("negative-weight", |c, x| c.negative_weight = x, [1e-9, 1e9], [0.0, f64::INFINITY]),
        ("p", |c, x| (c.model, c.p) = (Model::Node2vec, x), [1e-9, 1e9], [0.0, f64::NAN]),
    ];
    for (name, set, allowed, refused) in limits {
        let with = |value: f64| {
            let mut train = TrainConfig::default();
            set(&mut train, value);
            Settings { train, ..Default::default() }.validate()
        };
        for value in allowed {
            with(value).unwrap_or_else(|error| panic!("{value} for {name}: {error}"));
        }
        for value in refused {
            let error = with(value).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--{name} {value}: expected ")), "{error}");
        }
    }
    for (gamma, degree_power, allowed) in [
        (64.0, 64.0, true),
        (-64.0, 0.0, true),
        (64.1, 0.0, false),
        (-64.1, 0.0, false),
        (1.0, 64.1, false),
        (1.0, -0.1, false),
    ] {
        let negatives = NegativeConfig { gamma, degree_power, ..Default::default() };
        let settings = Settings { negatives, ..Default::default() };
        assert_eq!(settings.validate().is_ok(), allowed, "{gamma} {degree_power}");
    }
    for (landmarks, allowed) in [
        (LandmarkCount::Fraction(1e-9), true),
        (LandmarkCount::Fraction(1.0), true),
        (LandmarkCount::Fraction(1.1), false),
        (LandmarkCount::Count(1), true),
    ] {
        let negatives = NegativeConfig { landmarks: Some(landmarks), ..Default::default() };
        let settings = Settings { negatives, ..Default::default() };
        assert_eq!(settings.validate().is_ok(), allowed, "{landmarks}");
    }
}

/// Every option that only some models and trainers have, with one that has it and one that lacks it.
#[test]
fn options_are_refused_where_they_mean_nothing() {
    let base = TrainConfig::default;
    let trainer = |trainer| TrainConfig { trainer: Some(trainer), ..base() };
    let refused = |config: TrainConfig| {
        let settings = Settings { train: config, ..Default::default() };
        settings.validate().err().map(|error| error.to_string())
    };
    let (batch, exact) = (|| trainer(Trainer::Batch), || trainer(Trainer::Exact));
    for (allowed, not_allowed, reason) in [
        (
            TrainConfig { model: Model::Node2vec, p: 2.0, ..base() },
            TrainConfig { p: 2.0, ..base() },
            "p and q are parameters of node2vec",
        ),
        (
            TrainConfig { model: Model::Node2vec, q: 0.5, ..base() },
            TrainConfig { model: Model::Line, q: 0.5, ..base() },
            "p and q are parameters of node2vec",
        ),
        (
            TrainConfig { model: Model::Node2vec, ..base() },
            TrainConfig { model: Model::Node2vec, ..exact() },
            "the exact trainer does not support second-order walks",
        ),
        (
            TrainConfig { order: 2, ..base() },
            TrainConfig { order: 2, ..batch() },
            "only the stream trainer has context vectors",
        ),
        (
            TrainConfig { order: 1, ..exact() },
            TrainConfig { order: 2, ..exact() },
            "only the stream trainer has context vectors",
        ),
        (
            TrainConfig { l2: L2::Value(0.1), ..exact() },
            TrainConfig { l2: L2::Value(0.0), ..batch() },
            "the batch trainer has no L2 regularisation",
        ),
        (
            TrainConfig { centre_power: Some(0.0), ..batch() },
            TrainConfig { centre_power: Some(0.5), ..batch() },
            "the batch trainer takes as many walks from every node",
        ),
        (
            TrainConfig { centre_power: Some(0.5), ..base() },
            TrainConfig { centre_power: Some(1.0), ..batch() },
            "the batch trainer takes as many walks from every node",
        ),
        (
            TrainConfig { start: Some(Start::Random), ..batch() },
            TrainConfig { start: Some(Start::Spectral), ..batch() },
            "the batch trainer starts from random vectors",
        ),
        (
            TrainConfig { batch: Some(8), ..batch() },
            TrainConfig { batch: Some(8), ..exact() },
            "only the batch trainer has batches",
        ),
        (
            TrainConfig { model: Model::Sage, ..batch() },
            TrainConfig { model: Model::Sage, ..exact() },
            "sage needs the batch trainer",
        ),
    ] {
        assert_eq!(refused(allowed), None);
        let error = refused(not_allowed).unwrap_or_default();
        assert!(error.starts_with(reason), "'{error}' instead of '{reason}'");
    }
}
