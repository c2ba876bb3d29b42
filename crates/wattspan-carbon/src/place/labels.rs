//! Labels of the Kubernetes node, as far as the pod carries them: the downward API writes a pod's labels into a file.
//!
//! Kubernetes copies the node's topology labels to its pods from 1.35 on, and where `PodTopologyLabelsAdmission` is turned
//! on; any other label is there if whoever deploys the pod puts it there.

use std::fs;
use std::path::Path;

use crate::cloud::CloudFacts;
use crate::place::names;

/// Where Kubernetes' own documentation mounts the file.
pub(crate) const LABELS: &str = "etc/podinfo/labels";

/// What the labels say of the node. (Kubernetes, "Well-Known Labels, Annotations and Taints".)
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeLabels {
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
    pub(crate) instance_type: Option<String>,
}

impl NodeLabels {
    /// Reads a file of the downward API; one that is missing says nothing.
    pub(crate) fn read(path: &Path) -> Self {
        Self::parse(&fs::read_to_string(path).unwrap_or_default())
    }

    /// Lines of `key="value"`, in which a label's value needs no escape.
    fn parse(text: &str) -> Self {
        let mut labels = Self::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
            let value = value.trim().trim_matches('"');
            let field = match key.trim() {
                "topology.kubernetes.io/region" => &mut labels.region,
                "topology.kubernetes.io/zone" => &mut labels.zone,
                "node.kubernetes.io/instance-type" => &mut labels.instance_type,
                _ => continue,
            };
            *field = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
        labels
    }

    /// The machine in a region that one cloud alone has.
    ///
    /// # Errors
    /// When no cloud, or more than one, has such a region.
    pub(crate) fn facts(&self) -> Option<Result<CloudFacts, crate::Error>> {
        let region = self.region.as_deref()?;
        Some(names::cloud_region(region, None).map(|row| CloudFacts {
            provider: row.provider,
            platform: Some(match row.provider {
                "aws" => "aws_eks",
                "gcp" => "gcp_kubernetes_engine",
                _ => "azure.aks",
            }),
            region: Some(row.region.to_owned()),
            availability_zone: self.zone.clone(),
            instance_type: self.instance_type.clone(),
            instance_id: None,
        }))
    }

    /// Adds what a metadata service left open, if it speaks of the same region.
    pub(crate) fn complete(self, facts: &mut CloudFacts) {
        if self.region.is_some() && self.region == facts.region {
            facts.availability_zone = facts.availability_zone.take().or(self.zone);
            facts.instance_type = facts.instance_type.take().or(self.instance_type);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_labels_are_read_and_others_left() {
        let labels = NodeLabels::parse(
            "app=\"x\"\ntopology.kubernetes.io/region=\"eu-west-3\"\ntopology.kubernetes.io/zone=\"eu-west-3b\"\n\
             node.kubernetes.io/instance-type=\"g5.xlarge\"\nbroken\nempty=\"\"\n",
        );
        let said = |text: &str| Some(text.to_owned());
        assert_eq!(labels.region, said("eu-west-3"));
        assert_eq!((labels.zone, labels.instance_type), (said("eu-west-3b"), said("g5.xlarge")));
        assert_eq!(NodeLabels::parse("topology.kubernetes.io/region=\"\"\n"), NodeLabels::default());
    }
}
