//! The values of an object or array that a reader asks for, by name or by position.

use std::borrow::Cow;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::super::attributes::{Wanted, weight};

/// A value that is no array and no object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Scalar<'de> {
    #[default]
    Missing,
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(Cow<'de, str>),
    /// An array or an object.
    Other,
}

impl Scalar<'_> {
    /// A node id.
    pub(super) fn id(&self, name: &str) -> Result<Cow<'_, str>, String> {
        match self {
            Self::Text(text) if !text.is_empty() => Ok(Cow::Borrowed(text)),
            Self::Integer(id) => Ok(id.to_string().into()),
            other => Err(format!(
                "'{name}' is {}; node ids must be non-empty text or integers",
                other.describe()
            )),
        }
    }

    /// A weight; none if the value is null or was not given.
    fn weight(&self) -> Result<Option<f32>, String> {
        match self {
            Self::Missing | Self::Null => Ok(None),
            Self::Integer(value) => weight(&value.to_string()).map(Some),
            Self::Float(value) => weight(&value.to_string()).map(Some),
            Self::Text(text) => weight(text).map(Some),
            other => Err(format!("a weight is {}; expected a number ≥ 0", other.describe())),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Missing => "missing".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(text) => format!("'{text}'"),
            Self::Other => "an array or an object".to_owned(),
        }
    }
}

/// An edge, and the names of the fields that it was found in.
pub(super) struct Found<'r, 'f> {
    pub(super) ends: [Cow<'f, str>; 2],
    pub(super) weight: Option<f32>,
    pub(super) names: [&'r str; 2],
    pub(super) weight_name: Option<&'r str>,
}

/// What is looked for in an edge.
pub(super) struct Record {
    /// Names of ends, pair by pair, then those of weights.
    names: Vec<String>,
    pairs: usize,
    /// Positions of source, target and weight in an array.
    positions: [usize; 3],
    /// Whether the user chose them.
    chosen: bool,
    weighted: bool,
}

impl Record {
    /// `keys` are those of the first edge, if they are known.
    pub(super) fn of(wanted: &Wanted, keys: &[String]) -> Self {
        let ends = wanted.ends(keys);
        let pairs = ends.len();
        let mut names: Vec<String> = ends.into_iter().flat_map(|(a, b)| [a, b]).collect();
        names.extend(wanted.weights().iter().map(|&name| name.to_owned()));
        let (positions, chosen) = wanted.positions();
        let weighted = !wanted.weights().is_empty();
        Self { names, pairs, positions, chosen, weighted }
    }

    /// The ends and the weight in the fields of an edge.
    pub(super) fn edge<'r, 'f>(&'r self, fields: &'f [Scalar]) -> Result<Found<'r, 'f>, String> {
        let is_there = |pair: &usize| {
            fields[2 * pair] != Scalar::Missing && fields[2 * pair + 1] != Scalar::Missing
        };
        let Some(pair) = (0..self.pairs).find(is_there) else {
            let (source, target) = (&self.names[0], &self.names[1]);
            return Err(format!("an edge without '{source}' and '{target}'"));
        };
        let names = [&*self.names[2 * pair], &*self.names[2 * pair + 1]];
        let ends = [fields[2 * pair].id(names[0])?, fields[2 * pair + 1].id(names[1])?];
        let mut weights = fields[2 * self.pairs..].iter().enumerate();
        let stated = weights.find(|(_, field)| !matches!(field, Scalar::Missing | Scalar::Null));
        let weight = match stated {
            None => None,
            Some((0, field)) => field.weight()?,
            // The attribute `value` may be anything.
            Some((_, field)) => field.weight().ok().flatten(),
        };
        let weight_name = stated.map(|(at, _)| &*self.names[2 * self.pairs + at]);
        Ok(Found { ends, weight, names, weight_name })
    }
}

/// Reads an edge, an object or an array; returns one field per name of the record.
pub(super) struct EdgeFields<'r>(pub(super) &'r Record);

impl<'de> DeserializeSeed<'de> for EdgeFields<'_> {
    type Value = Vec<Scalar<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EdgeFields<'_> {
    type Value = Vec<Scalar<'de>>;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an edge: an object such as {\"source\": 1, \"target\": 2}, or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        fields(map, &self.0.names)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let record = self.0;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element::<Scalar>()? {
            values.push(value);
        }
        if !(2..=3).contains(&values.len()) && !record.chosen {
            return Err(serde::de::Error::custom(format!(
                "an array of {} values; expected [source, target] or [source, target, weight]",
                values.len()
            )));
        }
        let mut fields = vec![Scalar::Missing; record.names.len()];
        let weight = record.weighted.then_some((2 * record.pairs, record.positions[2]));
        let ends = [(0, record.positions[0]), (1, record.positions[1])];
        for (field, position) in ends.into_iter().chain(weight) {
            if let Some(value) = values.get_mut(position) {
                // Two columns may be the same.
                fields[field] = value.clone();
            }
        }
        Ok(fields)
    }
}

/// Reads a node, an object or its id; returns its `id` and its `name`.
pub(super) struct NodeFields;

impl<'de> DeserializeSeed<'de> for NodeFields {
    type Value = Vec<Scalar<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Self::Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NodeFields {
    type Value = Vec<Scalar<'de>>;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a node: an object such as {\"id\": 1}, or its id")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        fields(map, &["id", "name"])
    }

    fn visit_str<E>(self, id: &str) -> Result<Self::Value, E> {
        Ok(vec![Scalar::Text(id.to_owned().into()), Scalar::Missing])
    }

    fn visit_u64<E>(self, id: u64) -> Result<Self::Value, E> {
        Ok(vec![Scalar::Integer(id.into()), Scalar::Missing])
    }

    fn visit_i64<E>(self, id: i64) -> Result<Self::Value, E> {
        Ok(vec![Scalar::Integer(id.into()), Scalar::Missing])
    }
}

/// The fields of an object with these names.
fn fields<'de, A: MapAccess<'de>>(
    mut map: A,
    names: &[impl AsRef<str>],
) -> Result<Vec<Scalar<'de>>, A::Error> {
    let mut fields = vec![Scalar::Missing; names.len()];
    while let Some(key) = map.next_key::<Key>()? {
        // A name may be there twice: --source a --target a.
        let mut found = None;
        for (field, name) in fields.iter_mut().zip(names) {
            if name.as_ref() == key.0 {
                if found.is_none() {
                    found = Some(map.next_value::<Scalar>()?);
                }
                *field = found.clone().unwrap_or_default();
            }
        }
        if found.is_none() {
            map.next_value::<IgnoredAny>()?;
        }
    }
    Ok(fields)
}

/// A key, borrowed where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(key.to_owned().into()))
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(key.into()))
            }
        }
        json.deserialize_str(KeyVisitor)
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(value.to_owned().into()))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}
