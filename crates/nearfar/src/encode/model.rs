//! Trained networks, which compute vectors of nodes that they have not seen from their features.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value};

use super::{Encoder, Features, Network, NetworkKind};
use crate::embedding::{Embedding, write_floats};
use crate::error::{Error, Problem, Result};
use crate::file::safetensors::{Tensor, write};
use crate::file::{FileSet, read_all};
use crate::graph::{Graph, Node};

/// A network that was trained on features.
///
/// In files, the tensor `parameters` holds W₀, S₀, and W₁ and S₁ of each second layer; the metadata hold
/// `kind` (`gcn`, `vgae` or `sage`), `features`, `dim` and the provenance of the vectors as JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkModel {
    pub(crate) kind: NetworkKind,
    pub(crate) features: usize,
    pub(crate) dim: usize,
    pub(crate) parameters: Vec<f32>,
    pub(crate) provenance: Map<String, Value>,
}

/// The largest number of features or dimensions in a file: products of two do not wrap.
const MOST: usize = 100_000_000;

/// The tensor.
const PARAMETERS: &str = "parameters";

impl NetworkModel {
    /// The number of features of a node.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of dimensions of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How the network was trained: resolved settings, seed, version and the fingerprint of the graph.
    pub fn provenance(&self) -> &Map<String, Value> {
        &self.provenance
    }

    /// The vectors of the nodes of a graph, from their features; those of training before smoothing.
    pub fn apply(&self, graph: &Arc<Graph>, features: &Arc<Features>) -> Result<Embedding> {
        if features.width() != self.features {
            let (given, own) = (features.width(), self.features);
            let message = format!("nodes have {given} features, and the model takes {own}");
            return Err(Error::conflict(message));
        }
        if graph.is_directed() {
            let problem = "networks pass messages in both directions of an edge";
            return Err(Error::conflict(Problem::from(problem).omit("directed")));
        }
        if features.nodes() != graph.nodes() {
            let (rows, nodes) = (features.nodes(), graph.nodes());
            let message = format!("there are {rows} rows of features for {nodes} nodes");
            return Err(Error::conflict(message));
        }
        let features = Some(Arc::clone(features));
        let mut network = Network::with_inputs(self.kind, graph, features, self.dim, 0);
        network.set_parameters(&self.parameters);
        network.forward(None);
        let vectors = network.vectors().to_vec();
        if let Some(at) = vectors.iter().position(|value| !value.is_finite()) {
            let (id, value) = (graph.ids().get((at / self.dim) as Node), vectors[at]);
            let problem = Problem::from(format!("the vector of node '{id}' has {value}"));
            return Err(Error::conflict(problem.act("scale the features")));
        }
        let embedding = Embedding::new(graph.ids().clone(), self.dim, vectors)?;
        Ok(embedding.with_provenance(self.provenance.clone()))
    }

    /// Writes the model to a safetensors file, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.write(path)?.commit()
    }

    /// [`save`](Self::save) but for the last step, for files that are saved together with others.
    pub fn write(&self, path: &Path) -> Result<FileSet> {
        let metadata = [
            ("kind", self.kind.name().to_owned()),
            ("features", self.features.to_string()),
            ("dim", self.dim.to_string()),
            ("nearfar", Value::Object(self.provenance.clone()).to_string()),
        ];
        let metadata: BTreeMap<String, String> =
            metadata.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let floats = |mut out: &mut dyn Write| write_floats(&mut out, &self.parameters);
        let shape = vec![self.parameters.len()];
        let tensor = Tensor { name: PARAMETERS, dtype: Dtype::F32, shape, write: &floats };
        write(path, &metadata, &[tensor])
    }

    /// Reads a model.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read_all(path)?;
        let fail = |message: &str| {
            Error::file(path, format!("{message}; expected a file of nearfar embed --save-model"))
        };
        let metadata =
            SafeTensors::read_metadata(&bytes).map_err(|error| fail(&error.to_string()))?;
        let metadata = metadata.1.metadata().clone().unwrap_or_default();
        let get = |name: &str| metadata.get(name).cloned().unwrap_or_default();
        let size = |text: String| text.parse().ok().filter(|size| (1..=MOST).contains(size));
        let number = |name: &str| size(get(name));
        let kind = NetworkKind::of_name(&get("kind"));
        let (Some(kind), Some(features), Some(dim)) = (kind, number("features"), number("dim"))
        else {
            return Err(fail("no model of nearfar"));
        };
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| fail(&error.to_string()))?;
        let tensor = tensors.tensor(PARAMETERS).map_err(|error| fail(&error.to_string()))?;
        let expected = Network::parameter_count(kind, features, dim);
        if tensor.dtype() != Dtype::F32 || Some(tensor.data().len()) != expected.checked_mul(4) {
            return Err(fail("parameters that do not fit the model"));
        }
        let values = tensor.data().as_chunks::<4>().0.iter();
        let parameters: Vec<f32> = values.map(|&bytes| f32::from_le_bytes(bytes)).collect();
        if parameters.iter().any(|value| !value.is_finite()) {
            return Err(fail("parameters that are not finite"));
        }
        let provenance = serde_json::from_str(&get("nearfar")).unwrap_or_default();
        Ok(Self { kind, features, dim, parameters, provenance })
    }
}
