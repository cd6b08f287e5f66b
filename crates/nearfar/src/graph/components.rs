//! Connected components; of a directed graph, those that its arcs connect in whatever direction.

use super::{Graph, Node};

/// The connected components of a graph, numbered by their lowest row.
#[derive(Clone, Debug)]
pub struct Components {
    of: Vec<u32>,
    sizes: Vec<usize>,
}

impl Components {
    /// Finds the components by one traversal of the graph.
    pub fn new(graph: &Graph) -> Self {
        const UNSEEN: u32 = u32::MAX;
        let mut of = vec![UNSEEN; graph.nodes()];
        let mut sizes = Vec::new();
        let mut queue = Vec::new();
        for start in 0..graph.nodes() as Node {
            if of[start as usize] != UNSEEN {
                continue;
            }
            let component = sizes.len() as u32;
            of[start as usize] = component;
            queue.push(start);
            let mut size = 0;
            while let Some(node) = queue.pop() {
                size += 1;
                let back = if graph.is_directed() { graph.incoming(node) } else { &[] };
                for &next in graph.neighbours(node).iter().chain(back) {
                    if of[next as usize] == UNSEEN {
                        of[next as usize] = component;
                        queue.push(next);
                    }
                }
            }
            sizes.push(size);
        }
        Self { of, sizes }
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there is no component.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// The component of a node.
    #[inline]
    pub fn of(&self, node: Node) -> usize {
        self.of[node as usize] as usize
    }

    /// The number of nodes in each component.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The component with the most nodes; the first of equal ones.
    pub fn largest(&self) -> usize {
        let largest = self.sizes.iter().copied().max().unwrap_or(0);
        self.sizes.iter().position(|&size| size == largest).unwrap_or(0)
    }

    /// The rows of one component, in increasing order.
    pub fn members(&self, component: usize) -> Vec<Node> {
        let rows = 0..self.of.len() as Node;
        rows.filter(|&node| self.of(node) == component).collect()
    }
}
